import type { Messages } from "./messages.ts";

interface Waiter {
  /** It waits for the messages whose numbers are below. */
  readonly below: number;
  remaining: number;
  readonly done: () => void;
}

/** Those who wait until every message up to some point has ended. Costs nothing without waiting callers. */
export class Waiters {
  readonly #waiters = new Set<Waiter>();

  /**
   * @param below - The number that the next message will have.
   * @param remaining - How many messages have not ended; all their numbers are below.
   */
  wait(below: number, remaining: number, done: () => void): void {
    if (remaining === 0) done();
    else this.#waiters.add({ below, remaining, done });
  }

  /** Tells that messages have ended. */
  ended({ from, to }: Messages): void {
    for (const waiter of this.#waiters) {
      if (from >= waiter.below) continue;
      waiter.remaining -= Math.min(to, waiter.below) - from;
      if (waiter.remaining > 0) continue;
      this.#waiters.delete(waiter);
      waiter.done();
    }
  }
}
