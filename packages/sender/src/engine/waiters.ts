import { clearInterval, setInterval } from "node:timers";
import { type Clock, LONGEST_TIMER_MS } from "@countersign/protocol";
import type { Delivery } from "../delivery/delivery.ts";
import type { DeliveryStore } from "../store/delivery-store.ts";
import { SenderClosedError } from "./sender.ts";

interface Waiter {
  readonly wake: () => void;
  readonly fail: (error: Error) => void;
}

/** What is looked up in the store. */
type Lookup = Pick<DeliveryStore, "find" | "counts">;

/**
 * Callers that wait for deliveries to end, or for the sender to be idle. Costs nothing for a delivery without
 * a waiting caller.
 */
export class Waiters {
  readonly #store: Lookup;
  readonly #clock: Pick<Clock, "hold">;
  /** Keys of the destinations that are enabled: what is pending to others does not keep the sender from being idle. */
  destinations: readonly string[] = [];
  readonly #byDelivery = new Map<string, Set<Waiter>>();
  #forIdle: Waiter[] = [];
  readonly #keepAlive = new KeepAlive();
  #working = 0;
  #isClosed = false;

  constructor(store: Lookup, clock: Pick<Clock, "hold">) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Resolves to the deliveries of a source when all have ended. */
  settled(ids: readonly string[], source?: string): Promise<readonly Delivery[]> {
    return this.#keepAlive.until(Promise.all(ids.map((id) => this.#settledOne(id, source))));
  }

  /** Resolves when nothing is being accepted and nothing is pending. */
  idle(): Promise<void> {
    return this.#keepAlive.until(this.#untilIdle());
  }

  async #untilIdle(): Promise<void> {
    for (;;) {
      // Registered before counting, or a change between the two would be missed.
      const change = new Promise<void>((wake, fail) => this.#forIdle.push({ wake, fail }));
      change.catch(() => {});
      if (this.#working === 0 && (await this.#countPending()) === 0 && this.#working === 0) return;
      await change;
    }
  }

  /** Events of other processes may have been missed: all waiting callers ask the store again. */
  readonly missed = (): void => {
    const waiting = [...this.#byDelivery.values()].flatMap((waiters) => [...waiters]);
    this.#byDelivery.clear();
    for (const { wake } of waiting) wake();
    this.changed();
  };

  /** Wakes the callers that wait for a delivery that has ended. */
  readonly ended = (id: string): void => {
    const waiters = this.#byDelivery.get(id);
    if (waiters !== undefined) {
      this.#byDelivery.delete(id);
      for (const { wake } of waiters) wake();
    }
    if (this.#forIdle.length > 0) this.changed();
  };

  /** Something may have become idle. */
  changed(): void {
    for (const { wake } of this.#forIdle.splice(0)) wake();
  }

  /** Something is being accepted: until the result is called, neither does the clock advance nor `idle` resolve. */
  working(): () => void {
    const release = this.#clock.hold();
    this.#working += 1;
    return () => {
      release();
      this.#working -= 1;
      if (this.#forIdle.length > 0) this.changed();
    };
  }

  /** Fails all callers that still wait. */
  close(): void {
    this.#isClosed = true;
    for (const [id, waiters] of this.#byDelivery) for (const { fail } of waiters) fail(closedError(id));
    this.#byDelivery.clear();
    const notIdle = new SenderClosedError("The sender was closed before it was idle.");
    for (const { fail } of this.#forIdle.splice(0)) fail(notIdle);
    this.#keepAlive.release();
  }

  async #countPending(): Promise<number> {
    const counts = await this.#store.counts();
    return this.destinations.reduce((sum, key) => sum + (counts.get(key)?.pending ?? 0), 0);
  }

  async #settledOne(id: string, source: string | undefined): Promise<Delivery> {
    for (;;) {
      if (this.#isClosed) throw closedError(id);
      // Registered before the store is asked, or an end between the two would be missed.
      const [end, waiter] = this.#wait(id);
      try {
        const delivery = await this.#store.find(id, source);
        if (delivery === undefined)
          throw new RangeError(`Delivery ${id} has ended, and the store no longer keeps it.`);
        if (delivery.state !== "pending") return delivery;
        await end;
      } finally {
        this.#forget(id, waiter);
      }
    }
  }

  /** A promise of the delivery's end, and what fulfils it. */
  #wait(id: string): [Promise<void>, Waiter] {
    let waiter!: Waiter;
    const end = new Promise<void>((wake, fail) => {
      waiter = { wake, fail };
    });
    // The sender may close while the store is asked, when this promise has no listener yet.
    end.catch(() => {});
    const waiters = this.#byDelivery.get(id) ?? new Set();
    this.#byDelivery.set(id, waiters.add(waiter));
    return [end, waiter];
  }

  #forget(id: string, waiter: Waiter): void {
    const waiters = this.#byDelivery.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#byDelivery.delete(id);
  }
}

function closedError(id: string): SenderClosedError {
  return new SenderClosedError(
    `The sender was closed before delivery ${id} was known to have ended. A store on disk keeps it; it continues at the next start.`,
  );
}

/**
 * Keeps the process running while a caller waits for a promise, though nothing else would: the servers and timers of a test
 * do not, so that a test that fails before `close()` ends by itself.
 */
class KeepAlive {
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  async until<T>(work: Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#timer ??= setInterval(() => {}, LONGEST_TIMER_MS);
    try {
      return await work;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.release();
    }
  }

  /** Lets the process end from now on, even while a caller still waits. */
  release(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
