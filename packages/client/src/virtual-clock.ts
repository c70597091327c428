import type { Clock } from "./clock.ts";

/** A clock that stands still until it is told to advance. */
export interface VirtualClock extends Clock {
  /**
   * Moves the time forward and runs every timer that falls due, in order, each at its own time. What a timer starts is
   * given the chance to finish before the next one runs, as far as it does not wait for something real.
   *
   * @param milliseconds - How far. 0 lets what has been started finish.
   */
  advance(milliseconds: number): Promise<void>;
  /** Timers that have not run. */
  readonly timers: number;
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/**
 * A clock for tests: hours of retries in milliseconds.
 *
 * @param start - Milliseconds since 1970. Default: 2026-01-01T00:00:00.000Z.
 * @example
 * ```ts
 * const clock = virtualClock();
 * const analytics = new Analytics("WRITE_KEY", { clock, transport: memoryTransport() });
 * analytics.track({ userId: "u1", event: "Signed Up" });
 * await clock.advance(5_000);
 * ```
 */
export function virtualClock(start: number = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = start;
  const timers = new Set<Timer>();
  const nextDue = (until: number): Timer | undefined => {
    let next: Timer | undefined;
    // Strictly before, so that of two timers with one time the one set first runs first.
    for (const timer of timers) if (timer.due <= until && (!next || timer.due < next.due)) next = timer;
    return next;
  };

  return {
    now: () => now,
    setTimeout(callback, milliseconds) {
      const timer: Timer = { due: now + Math.max(0, milliseconds), callback };
      timers.add(timer);
      return timer;
    },
    clearTimeout: (timer) => void timers.delete(timer as Timer),
    async advance(milliseconds) {
      const until = now + milliseconds;
      await turn();
      for (let timer = nextDue(until); timer; timer = nextDue(until)) {
        timers.delete(timer);
        now = timer.due;
        timer.callback();
        await turn();
      }
      now = until;
    },
    get timers() {
      return timers.size;
    },
  };
}

/** Resolves when every promise that can settle by itself has. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    // setTimeout takes a millisecond at least, and there may be thousands of turns.
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
