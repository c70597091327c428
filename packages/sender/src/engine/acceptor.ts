import type { Clock } from "@countersign/protocol";
import { setTimeout as pause } from "node:timers/promises";
import type { DeliveryInfo } from "../delivery/delivery.ts";
import type { Acceptance, Accepted, DeliveryStore, NewCall } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import type { EventHub } from "./event-hub.ts";
import type { MinuteCounts } from "./minute-counts.ts";
import type { Waiters } from "./waiters.ts";

/** The parts that an acceptor uses. */
export interface AcceptorParts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly events: EventHub;
  readonly minutes: MinuteCounts;
  readonly waiters: Waiters;
}

/** The result of one call. */
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
   * Stores all of it but the repeats, or nothing. Meanwhile the clock does not advance, nor does `idle` resolve.
   *
   * @returns the result of each call, in their order
   * @throws StoreError `ERR_STORE_UNKNOWN` when it may have been stored, and the store does not say
   */
  async accept(acceptance: Acceptance): Promise<readonly AcceptedCall[]> {
    const { store, clock, waiters } = this.#parts;
    const release = clock.hold();
    waiters.working();
    let stored: Accepted;
    try {
      stored = await store.accept(acceptance);
    } catch (error) {
      stored = await surely(() => this.#storeAgain(acceptance), error);
    } finally {
      release();
      waiters.worked();
    }
    return this.#accepted(acceptance, stored.repeats);
  }

  #accepted(acceptance: Acceptance, repeats: readonly number[]): readonly AcceptedCall[] {
    const accepted = acceptance.calls.map((call) => ({ call, deliveries: [] as string[], isRepeat: false }));
    for (const position of repeats) {
      const repeat = accepted[position];
      if (repeat !== undefined) repeat.isRepeat = true;
    }
    for (const { id, message } of acceptance.deliveries) {
      const call = accepted[acceptance.messages[message]?.call ?? -1];
      if (call?.isRepeat === false) call.deliveries.push(id);
    }
    this.#tell(acceptance, accepted);
    return accepted;
  }

  /** Stores another delivery of a message. Resolves to false when the store no longer keeps the original. */
  async repeat(original: DeliveryInfo, next: Parameters<DeliveryStore["repeat"]>[1]): Promise<boolean> {
    const { store, minutes, events } = this.#parts;
    const { id, source, destination } = original;
    const isStored = async (): Promise<boolean> => (await store.find(next.id, source)) !== undefined;
    const storing = store
      .repeat(id, next)
      .catch((error: unknown) => surely(async () => (await isStored()) || store.repeat(id, next), error));
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

  /** Stores what may have been stored: then it looks like a repeat of itself. */
  async #storeAgain(acceptance: Acceptance): Promise<Accepted> {
    const { repeats } = await this.#parts.store.accept(acceptance);
    const known = await Promise.all(repeats.map((position) => this.#isOwn(acceptance, position)));
    return { repeats: repeats.filter((_, index) => known[index] !== true) };
  }

  /** Whether what looks like a repeat is this very call, stored by an attempt whose answer was lost. */
  async #isOwn({ calls, messages, deliveries }: Acceptance, position: number): Promise<boolean> {
    const delivery = deliveries.find(({ message }) => messages[message]?.call === position);
    if (delivery === undefined) return false;
    return (await this.#parts.store.find(delivery.id, calls[position]?.source)) !== undefined;
  }

  #tell({ messages, deliveries }: Acceptance, accepted: readonly AcceptedCall[]): void {
    const { events, minutes } = this.#parts;
    const stored = accepted.reduce((sum, call) => sum + call.deliveries.length, 0);
    if (stored > 0) minutes.add("accepted", stored);
    if (events.has("accepted")) {
      for (const { id, destination, message } of deliveries) {
        const about = messages[message];
        if (about === undefined || accepted[about.call]?.isRepeat !== false) continue;
        const { messageId, type, source, identity, event, acceptedAt } = about;
        const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
        events.emit("accepted", { delivery });
      }
    }
    for (const { call, isRepeat } of accepted) {
      const { messageId, type, source, event, identity, skipped } = call;
      if (skipped === undefined || isRepeat) continue;
      events.emit("skipped", { messageId, type, source, event, identity, reason: skipped.reason });
    }
  }
}

/**
 * Does something in the store again that failed, as long as it is not known whether it was done.
 *
 * @throws what it failed with, when that is known
 */
async function surely<T>(again: () => Promise<T>, unknown: unknown): Promise<T> {
  if (!(unknown instanceof StoreError) || unknown.code !== "ERR_STORE_UNKNOWN") throw unknown;
  for (const pauseMs of PAUSES_MS) {
    await pause(pauseMs);
    try {
      return await again();
    } catch (error) {
      // What fails otherwise, such as a connection, does not say what became of the first attempt.
      if (error instanceof StoreError && error.code === "ERR_STORE_CHANGED") throw error;
    }
  }
  throw unknown;
}
