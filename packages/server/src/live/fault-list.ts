import type { Fault, FaultScope, FaultyTransport, InjectedFault } from "@countersign/sender/faults";
import type { FaultJson } from "../shapes/fault-shapes.ts";

/** A fault to inject: one of the sender's, against receivers, or `rate_limit`, against clients. */
export type FaultRequest =
  | ({ readonly fault: Fault } & FaultScope)
  | { readonly fault: "rate_limit"; readonly seconds: number; readonly times?: number | undefined };

/** What can happen to a fault. */
export const FAULT_CHANGES = ["injected", "struck", "cancelled", "used_up"] as const;

/** The change of a fault. */
export type FaultChange = (typeof FAULT_CHANGES)[number];

/** The most that are in force: each attempt looks through them, and those that fit none end by nothing else. */
export const MOST_FAULTS = 1_000;

/** The faults that were injected through the control API, and are not used up. */
export class FaultList {
  readonly #transport: Pick<FaultyTransport, "inject">;
  readonly #onChange: (change: FaultChange, fault: FaultJson) => void;
  readonly #faults = new Map<number, Kept>();
  #nextId = 1;

  /**
   * @param transport Makes the faults against receivers.
   * @param onChange Called when a fault was injected, has struck, was cancelled or is used up.
   */
  constructor(
    transport: Pick<FaultyTransport, "inject">,
    onChange: (change: FaultChange, fault: FaultJson) => void,
  ) {
    this.#transport = transport;
    this.#onChange = onChange;
  }

  /** Puts a fault in force; undefined when as many are in force as there can be. */
  inject(request: FaultRequest): FaultJson | undefined {
    this.lookForStrikes();
    if (this.#faults.size >= MOST_FAULTS) return undefined;
    const id = this.#nextId++;
    const injected =
      request.fault === "rate_limit" ? countdown(request.times ?? 1) : this.#injectIntoSender(request);
    const kept = { id, request, injected, told: injected.remaining };
    this.#faults.set(id, kept);
    const json = faultJson(kept);
    this.#onChange("injected", json);
    return json;
  }

  /** The faults in force, the oldest first. */
  active(): readonly FaultJson[] {
    this.lookForStrikes();
    return [...this.#faults.values()].map(faultJson);
  }

  /** Cancels a fault. Returns false if no fault has this id. */
  cancel(id: number): boolean {
    this.lookForStrikes();
    const kept = this.#faults.get(id);
    if (!kept) return false;
    kept.injected.cancel();
    this.#faults.delete(id);
    this.#onChange("cancelled", faultJson(kept));
    return true;
  }

  /** Uses up one strike of the oldest rate limit; the seconds it tells the client to wait. */
  strikeRateLimit(): number | undefined {
    for (const { request, injected } of this.#faults.values()) {
      if (request.fault !== "rate_limit" || injected.remaining === 0) continue;
      (injected as Countdown).strike();
      this.lookForStrikes();
      return request.seconds;
    }
    return undefined;
  }

  /** Tells of the faults that have struck since this was called last. */
  lookForStrikes(): void {
    for (const kept of this.#faults.values()) {
      const { remaining } = kept.injected;
      if (remaining === kept.told && remaining !== 0) continue;
      kept.told = remaining;
      if (remaining === 0) this.#faults.delete(kept.id);
      this.#onChange(remaining === 0 ? "used_up" : "struck", faultJson(kept));
    }
  }

  #injectIntoSender({ fault, ...scope }: { readonly fault: Fault } & FaultScope): InjectedFault {
    return this.#transport.inject(fault, scope);
  }
}

interface Kept {
  readonly id: number;
  readonly request: FaultRequest;
  readonly injected: InjectedFault;
  /** How many strikes were left when somebody was last told. */
  told: number;
}

function faultJson({ id, request, injected: { remaining } }: Kept): FaultJson {
  const { fault, times: _, ...scope } = request;
  const given = Object.fromEntries(Object.entries(scope).filter(([, value]) => value !== undefined));
  return { id, fault, scope: given, remaining: Number.isFinite(remaining) ? remaining : "unlimited" };
}

type Countdown = InjectedFault & { strike(): void };

function countdown(times: number): Countdown {
  let remaining = times;
  let struck = 0;
  return {
    get remaining() {
      return remaining;
    },
    get struck() {
      return struck;
    },
    strike() {
      remaining -= 1;
      struck += 1;
    },
    cancel() {
      remaining = 0;
    },
  };
}
