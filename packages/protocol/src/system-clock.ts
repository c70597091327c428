import type { Clock } from "./clock.ts";

/** Options of {@link systemClock}. */
export interface SystemClockOptions {
  /** Whether a scheduled task keeps the process running until it is due. Default: `true`. */
  readonly keepAlive?: boolean | undefined;
}

/** A clock that was set back by less, all told, is not noticed: what is scheduled then waits that much longer. */
const SET_BACK_MS = 1_000;

/** A wait is at most this long, so that a clock that was set, or a machine that slept, is noticed. */
const LONGEST_WAIT_MS = 60_000;

interface Host {
  readonly Deno?: { unrefTimer?(timer: unknown): void };
}

/**
 * The machine's time: `now()` is `Date.now()`.
 *
 * What is scheduled is never late by more than a minute after the machine slept or its clock was set forward: the time that
 * the clock skipped counts as passed. If the clock is set back, by a second or more, what was scheduled before runs after the
 * time that was left to wait (by `performance.now()`), neither later nor earlier, although `now()` has not reached its time
 * again. If the clock goes back little by little, or stands still, as in a test that sets the date, that is up to a second
 * later. What is scheduled afterwards follows the new time. A request timeout or the delay of a retry therefore keeps its
 * length. Work that is due at a time by the clock, such as a stored delivery, is woken once too early: it finds that nothing is
 * due, and schedules itself again.
 *
 * @example
 * ```ts
 * const clock = systemClock();
 * const task = clock.schedule(clock.now() + 5_000, () => flush());
 * ```
 */
export function systemClock({ keepAlive = true }: SystemClockOptions = {}): Clock {
  return {
    now: () => Date.now(),
    schedule(at, task) {
      let due = at;
      let offset = clockOffset();
      let timer: ReturnType<typeof setTimeout>;
      const wait = (): void => {
        timer = setTimeout(wake, Math.min(Math.max(due - Date.now(), 0), LONGEST_WAIT_MS));
        if (!keepAlive) unref(timer);
      };
      const wake = (): void => {
        const current = clockOffset();
        // What is not noticed adds up until it is: a clock that stands still goes back a little with every wait.
        offset = Math.max(offset, current);
        if (offset - current >= SET_BACK_MS) {
          // The task moves along with a clock that was set back.
          due += current - offset;
          offset = current;
        }
        if (due > Date.now()) wait();
        else task();
      };
      wait();
      return { cancel: () => clearTimeout(timer) };
    },
    // Nothing waits for the end of the work.
    hold: () => () => {},
  };
}

/** How far the machine's clock is ahead of the time that passes whether or not somebody sets that clock. */
function clockOffset(): number {
  return Date.now() - performance.now();
}

/** Node and Bun return an object from setTimeout; browsers, workerd and older Deno a number. */
function unref(timer: unknown): void {
  if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
  else (globalThis as Host).Deno?.unrefTimer?.(timer);
}
