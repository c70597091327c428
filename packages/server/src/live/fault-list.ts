import type { Fault, FaultScope, FaultyTransport, InjectedFault } from "@countersign/sender/faults";

/** A fault to inject: one of the sender's, against receivers, or `rate_limit`, against clients. */
export type FaultRequest =
  | ({ readonly fault: Fault } & FaultScope)
  | { readonly fault: "rate_limit"; readonly seconds: number; readonly times?: number | undefined };

/** A fault in force. */
export interface ActiveFault {
  readonly id: number;
  readonly request: FaultRequest;
  /** How many more times it will strike; `Infinity` until it is cancelled. */
  readonly remaining: number;
}

/** The faults that were injected through the control API, and are not used up. */
export class FaultList {
  readonly #transport: Pick<FaultyTransport, "inject">;
  readonly #faults = new Map<number, { readonly request: FaultRequest; readonly injected: InjectedFault }>();
  #nextId = 1;

  /** `transport` makes the faults against receivers. */
  constructor(transport: Pick<FaultyTransport, "inject">) {
    this.#transport = transport;
  }

  /** Puts a fault in force. */
  inject(request: FaultRequest): ActiveFault {
    const id = this.#nextId++;
    const injected =
      request.fault === "rate_limit" ? countdown(request.times ?? 1) : this.#injectIntoSender(request);
    this.#faults.set(id, { request, injected });
    return { id, request, remaining: injected.remaining };
  }

  /** The faults in force, the oldest first. */
  active(): readonly ActiveFault[] {
    for (const [id, { injected }] of this.#faults) if (injected.remaining === 0) this.#faults.delete(id);
    return [...this.#faults].map(([id, { request, injected }]) => ({
      id,
      request,
      remaining: injected.remaining,
    }));
  }

  /** Cancels a fault. Returns false if no fault has this id. */
  cancel(id: number): boolean {
    this.#faults.get(id)?.injected.cancel();
    return this.#faults.delete(id);
  }

  /** Uses up one strike of the oldest rate limit; the seconds it tells the client to wait. */
  strikeRateLimit(): number | undefined {
    for (const { request, injected } of this.#faults.values()) {
      if (request.fault !== "rate_limit" || injected.remaining === 0) continue;
      (injected as Countdown).strike();
      return request.seconds;
    }
    return undefined;
  }

  #injectIntoSender({ fault, ...scope }: { readonly fault: Fault } & FaultScope): InjectedFault {
    return this.#transport.inject(fault, scope);
  }
}

type Countdown = InjectedFault & { strike(): void };

function countdown(times: number): Countdown {
  let remaining = times;
  return {
    get remaining() {
      return remaining;
    },
    strike() {
      remaining -= 1;
    },
    cancel() {
      remaining = 0;
    },
  };
}
