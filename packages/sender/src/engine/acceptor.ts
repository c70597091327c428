import type { Clock } from "@countersign/protocol";
import { setTimeout as pause } from "node:timers/promises";
import type { DeliveryInfo } from "../delivery/delivery.ts";
import type { Acceptance, Accepted, DeliveryStore, NewCall } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import type { EventHub } from "./event-hub.ts";
import type { MinuteCounts } from "./minute-counts.ts";
import type { Waiters } from "./waiters.ts";

/** What an acceptor works with. */
export interface AcceptorParts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly events: EventHub;
  readonly minutes: MinuteCounts;
  readonly waiters: Waiters;
}

/** What one call has become. */
export interface AcceptedCall {
  readonly call: NewCall;
  /** Ids of its deliveries; none of a repeat. */
  readonly deliveries: readonly string[];
  /** It had been accepted before. */
  readonly isRepeat: boolean;
}

/** Pauses before what may have been stored is stored again, in physical milliseconds. */
const PAUSES_MS: readonly number[] = [20, 100, 300, 600];

/** Passes what was accepted to the store, and tells of it when it is stored. */
export class Acceptor {
  readonly #parts: AcceptorParts;

  constructor(parts: AcceptorParts) {
    this.#parts = parts;
  }

  /**
   * Stores all of it but the repeats, or nothing.
   *
   * @returns what became of each call, in their order
   * @throws StoreError `ERR_STORE_UNKNOWN` when it may have been stored, and the store does not say
   */
  async accept(acceptance: Acceptance): Promise<readonly AcceptedCall[]> {
    const { repeats } = await this.working(this.#store(acceptance));
    const isRepeat = new Set(repeats);
    const deliveries: string[][] = acceptance.calls.map(() => []);
    for (const { id, message } of acceptance.deliveries) {
      const call = acceptance.messages[message]?.call ?? -1;
      if (!isRepeat.has(call)) deliveries[call]?.push(id);
    }
    this.#tell(acceptance, isRepeat);
    return acceptance.calls.map((call, position) => ({
      call,
      deliveries: deliveries[position] ?? [],
      isRepeat: isRepeat.has(position),
    }));
  }

  /** Stores another delivery of a message. Resolves to false when the store no longer keeps the original. */
  async repeat(original: DeliveryInfo, next: Parameters<DeliveryStore["repeat"]>[1]): Promise<boolean> {
    const { store, minutes, events } = this.#parts;
    const { id, source, destination } = original;
    const isStored = async (): Promise<boolean> => (await store.find(next.id, source)) !== undefined;
    const storing = sure(
      () => store.repeat(id, next),
      async () => (await isStored()) || store.repeat(id, next),
    );
    if (!(await this.working(storing))) return false;
    minutes.add("accepted");
    const { messageId, type, identity, event } = next.message ?? original;
    const about = { id: next.id, messageId, type, source, destination, identity, event };
    events.emit("accepted", { delivery: { ...about, acceptedAt: next.acceptedAt }, resendOf: id });
    return true;
  }

  /** Neither the clock advances nor `idle` resolves while something is being stored. */
  async working<T>(storing: Promise<T>): Promise<T> {
    const { clock, waiters } = this.#parts;
    const release = clock.hold();
    waiters.working();
    try {
      return await storing;
    } finally {
      release();
      waiters.worked();
    }
  }

  #store(acceptance: Acceptance): Promise<Accepted> {
    const { store } = this.#parts;
    return sure(
      () => store.accept(acceptance),
      async () => {
        const { repeats } = await store.accept(acceptance);
        const known = await Promise.all(repeats.map((position) => this.#isOwn(acceptance, position)));
        return { repeats: repeats.filter((_, index) => known[index] !== true) };
      },
    );
  }

  /** Whether what looks like a repeat is this very call, stored by an attempt whose answer was lost. */
  async #isOwn({ calls, messages, deliveries }: Acceptance, position: number): Promise<boolean> {
    const delivery = deliveries.find(({ message }) => messages[message]?.call === position);
    if (delivery === undefined) return false;
    return (await this.#parts.store.find(delivery.id, calls[position]?.source)) !== undefined;
  }

  #tell({ calls, messages, deliveries }: Acceptance, isRepeat: ReadonlySet<number>): void {
    const { events, minutes } = this.#parts;
    const isHeard = events.has("accepted");
    let accepted = 0;
    for (const { id, destination, message } of deliveries) {
      const about = messages[message];
      if (about === undefined || isRepeat.has(about.call)) continue;
      accepted += 1;
      const { messageId, type, source, identity, event, acceptedAt } = about;
      const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
      if (isHeard) events.emit("accepted", { delivery });
    }
    if (accepted > 0) minutes.add("accepted", accepted);
    for (const [position, { messageId, type, source, event, identity, skipped }] of calls.entries()) {
      if (skipped === undefined || isRepeat.has(position)) continue;
      events.emit("skipped", { messageId, type, source, event, identity, reason: skipped.reason });
    }
  }
}

/** Does something in the store; again, in another way, as long as it is not known whether it was done. */
async function sure<T>(first: () => Promise<T>, again: () => Promise<T>): Promise<T> {
  let unknown: unknown;
  for (const pauseMs of [0, ...PAUSES_MS]) {
    if (unknown !== undefined) await pause(pauseMs);
    try {
      return await (unknown === undefined ? first() : again());
    } catch (error) {
      const code = error instanceof StoreError ? error.code : undefined;
      const isKnown = unknown === undefined ? code !== "ERR_STORE_UNKNOWN" : code === "ERR_STORE_CHANGED";
      if (isKnown) throw error;
      // What fails after that, such as a connection, does not say what became of the first attempt.
      unknown ??= error;
    }
  }
  throw unknown;
}
