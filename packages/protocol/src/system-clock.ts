import type { Clock } from "./clock.ts";
import { TaskQueue } from "./task-queue.ts";

/** Options of {@link systemClock}. */
export interface SystemClockOptions {
  /** Whether a scheduled task keeps the process running until it is due. Default: `true`. */
  readonly keepAlive?: boolean | undefined;
}

/** A clock that was set back by less is not noticed: what is scheduled then waits that much longer. */
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
 * again. What is scheduled afterwards follows the new time. A request timeout or the delay of a retry therefore keeps its length.
 * Work that is due at a time by the clock, such as a stored delivery, is woken once too early: it finds that nothing is due,
 * and schedules itself again.
 *
 * @example
 * ```ts
 * const clock = systemClock();
 * const task = clock.schedule(clock.now() + 5_000, () => flush());
 * ```
 */
export function systemClock({ keepAlive = true }: SystemClockOptions = {}): Clock {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const queue = new TaskQueue(arm);
  let offset = Date.now() - performance.now();

  /** The time. What was scheduled moves along with a clock that was set back. */
  function read(): number {
    const now = Date.now();
    const moved = now - performance.now() - offset;
    offset += moved;
    if (moved <= -SET_BACK_MS) queue.shift(moved);
    return now;
  }

  function arm(): void {
    clearTimeout(timer);
    timer = undefined;
    const now = read();
    if (queue.nextAt === undefined) return;
    const wait = Math.min(Math.max(queue.nextAt - now, 0), LONGEST_WAIT_MS);
    timer = setTimeout(wake, wait);
    if (!keepAlive) unref(timer);
  }

  function wake(): void {
    try {
      queue.runDue(read());
    } finally {
      arm();
    }
  }

  return {
    now: () => Date.now(),
    schedule(at, task) {
      // What is already scheduled moves, and the new task does not.
      read();
      return queue.add(at, task);
    },
    // Nothing waits for the end of the work.
    hold: () => () => {},
  };
}

/** Node and Bun return an object from setTimeout; browsers, workerd and older Deno a number. */
function unref(timer: unknown): void {
  if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
  else (globalThis as Host).Deno?.unrefTimer?.(timer);
}
