import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as pause } from "node:timers/promises";
import type { DeliveryInfo } from "../delivery/delivery.ts";
import type { SkipReason } from "../delivery/skipped-call.ts";
import type { Acceptance, Accepted, DeliveryStore, NextDelivery } from "../store/delivery-store.ts";
import { isUnknown, StoreError } from "../store/store-error.ts";
import type { EventHub } from "./event-hub.ts";
import type { MinuteCounts } from "./minute-counts.ts";
import type { Receipt } from "./sender.ts";
import type { Waiters } from "./waiters.ts";

/** The parts that an acceptor uses. */
export interface AcceptorParts {
  readonly store: DeliveryStore;
  readonly events: EventHub;
  readonly minutes: MinuteCounts;
  readonly waiters: Waiters;
}

/** The pauses before each further try, when it is not known whether something was stored, in physical milliseconds. */
const PAUSES_MS: readonly number[] = [20, 100, 300, 600];

/** For how long to try, in physical milliseconds: a try may take seconds, and the caller waits. */
const TRIED_FOR_MS = 2_000;

/** Has the store keep calls, emits the events of those that it has stored, and makes their receipts. */
export class Acceptor {
  readonly #parts: AcceptorParts;

  constructor(parts: AcceptorParts) {
    this.#parts = parts;
  }

  /**
   * Stores all of it but the repeats, or nothing.
   *
   * @returns the receipts, in the order of the calls
   * @throws StoreError `ERR_STORE_UNKNOWN` when it may have been stored, and the store does not say
   */
  async accept(acceptance: Acceptance): Promise<readonly Receipt[]> {
    const { store, waiters, events } = this.#parts;
    const { calls, deliveries } = acceptance;
    // A store on many machines may store the calls of one source, and deliver them, before it has those of another.
    const isDivided = calls[0]?.source !== calls.at(-1)?.source;
    const told = isDivided ? events.keepBack(deliveries.map(({ id }) => id)) : undefined;
    const worked = waiters.working();
    try {
      let stored: Accepted;
      try {
        stored = await store.accept(acceptance);
      } catch (error) {
        stored = await surely(() => this.#storeAgain(acceptance), error);
      } finally {
        worked();
      }
      return this.#accepted(acceptance, stored.repeats);
    } finally {
      told?.();
    }
  }

  /** Counts the deliveries that were stored, emits their events, and makes the receipts. */
  #accepted({ calls, messages, deliveries }: Acceptance, repeats: readonly number[]): readonly Receipt[] {
    const { events, minutes } = this.#parts;
    const accepted = calls.map((call) => ({ call, ids: [] as string[], isRepeat: false }));
    for (const position of repeats) {
      const repeat = accepted[position];
      if (repeat !== undefined) repeat.isRepeat = true;
    }
    const isHeard = events.has("accepted");
    let stored = 0;
    for (const { id, destination, message } of deliveries) {
      const about = messages[message];
      const call = about && accepted[about.call];
      if (about === undefined || call?.isRepeat !== false) continue;
      call.ids.push(id);
      stored += 1;
      if (!isHeard) continue;
      const { messageId, type, source, identity, event, acceptedAt } = about;
      const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
      events.emit("accepted", { delivery });
    }
    if (stored > 0) minutes.add("accepted", stored);
    for (const { call, isRepeat } of accepted) {
      const { messageId, type, source, event, identity, skipped } = call;
      if (skipped === undefined || isRepeat) continue;
      events.emit("skipped", { messageId, type, source, event, identity, reason: skipped.reason });
    }
    return accepted.map(({ call: { messageId, source, skipped }, ids, isRepeat }) =>
      isRepeat
        ? { messageId, deliveries: ids, repeat: true, settled: () => Promise.resolve([]) }
        : this.receipt(source, messageId, ids, skipped?.reason),
    );
  }

  /** The receipt of a call whose deliveries are stored. */
  receipt(source: string, messageId: string, deliveries: readonly string[], skipped?: SkipReason): Receipt {
    return { messageId, deliveries, skipped, settled: () => this.#parts.waiters.settled(deliveries, source) };
  }

  /** Stores another delivery of a message. Resolves to false when the store no longer keeps the original. */
  async repeat(original: DeliveryInfo, next: NextDelivery): Promise<boolean> {
    const { store, waiters, minutes, events } = this.#parts;
    const { id, source, destination } = original;
    const storing = store
      .repeat(id, next, source)
      .catch((error: unknown) => surely(() => this.#repeatAgain(original, next), error));
    if (!(await storing.finally(waiters.working()))) return false;
    minutes.add("accepted");
    const { messageId, type, identity, event } = next.message ?? original;
    const about = { id: next.id, messageId, type, source, destination, identity, event };
    events.emit("accepted", { delivery: { ...about, acceptedAt: next.acceptedAt }, resendOf: id });
    return true;
  }

  /**
   * Stores a copy that may have been stored already. That it is found says nothing before it is stored anew, and refused: a store may
   * give what its disk does not have yet.
   */
  async #repeatAgain({ id, source }: DeliveryInfo, next: NextDelivery): Promise<boolean> {
    const { store } = this.#parts;
    const isStored = async (): Promise<boolean> => (await store.find(next.id, source)) !== undefined;
    try {
      if (await store.repeat(id, next, source)) return true;
    } catch (error) {
      if (isUnknown(error) || !(await isStored())) throw error;
      return true;
    }
    // The original may have been removed meanwhile.
    return isStored();
  }

  /** Stores an acceptance that may have been stored already. Its calls then look like repeats of themselves. */
  async #storeAgain(acceptance: Acceptance): Promise<Accepted> {
    const { repeats } = await this.#parts.store.accept(acceptance);
    const known = await Promise.all(repeats.map((position) => this.#isOwn(acceptance, position)));
    return { repeats: repeats.filter((_, index) => known[index] !== true) };
  }

  /** Whether a call that looks like a repeat was stored by the first try, whose answer was lost. */
  async #isOwn({ calls, messages, deliveries }: Acceptance, position: number): Promise<boolean> {
    const delivery = deliveries.find(({ message }) => messages[message]?.call === position);
    if (delivery === undefined) return false;
    return (await this.#parts.store.find(delivery.id, calls[position]?.source)) !== undefined;
  }
}

/**
 * Tries again what the store may have done or not.
 *
 * @param unknown The error of the first try.
 * @throws the error of the first try: at once if it says that nothing was done, else when the tries are over
 */
async function surely<T>(again: () => Promise<T>, unknown: unknown): Promise<T> {
  if (!isUnknown(unknown)) throw unknown;
  const until = performance.now() + TRIED_FOR_MS;
  for (const pauseMs of PAUSES_MS) {
    await pause(pauseMs);
    if (performance.now() > until) break;
    try {
      return await before(until, again(), unknown);
    } catch (error) {
      // Any other error, such as that of a connection, says nothing about the first try.
      if (error instanceof StoreError && error.code === "ERR_STORE_CHANGED") throw error;
    }
  }
  throw unknown;
}

/** The result of a promise. Rejects with `late` if there is none at the time `until`, of `performance.now()`. */
function before<T>(until: number, promise: Promise<T>, late: unknown): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const ends = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), until - performance.now());
  });
  return Promise.race([promise, ends]).finally(() => clearTimeout(timer));
}
