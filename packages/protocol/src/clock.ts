import { checkPort } from "./options.ts";

/** The longest delay of a timer, in milliseconds: some 24 days. `setTimeout` would run a task with a longer one at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** A task that is scheduled and can still be cancelled. */
export interface ScheduledTask {
  /** Cancels it. Does nothing once it has run. */
  cancel(): void;
}

/**
 * The source of the time, and of the timers that wake waiting code. `systemClock()` follows the machine;
 * `virtualClock()` moves only when a test advances it. Client, sender and server take the same clock.
 */
export interface Clock {
  /** The time, in milliseconds since 1970. */
  now(): number;
  /**
   * Runs a task once, as soon as the clock has reached `at` (milliseconds since 1970).
   *
   * If the machine's clock is set back meanwhile, the task runs after the time that was left to wait, so that `now()` is then
   * before `at`. A task that must not run before a time by the clock compares the two and schedules itself again.
   */
  schedule(at: number, task: () => void): ScheduledTask;
  /**
   * Says that work of this instant is in progress. A virtual clock does not move on until the returned
   * function is called.
   */
  hold(): () => void;
}

/**
 * Checks the shape of a clock that a caller injected.
 *
 * @param what - Its name in the error: `createSender({ clock })`.
 * @throws TypeError naming the method that is missing.
 */
export function checkClock(what: string, clock: unknown): void {
  checkPort(what, clock, ["now", "schedule", "hold"]);
}
