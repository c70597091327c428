import { checkPort } from "./options.ts";

/** A task that is scheduled and can still be cancelled. */
export interface ScheduledTask {
  /** Cancels it. Does nothing once it has run. */
  cancel(): void;
}

/**
 * Where the time comes from, and what wakes waiting code. `systemClock()` follows the machine; `virtualClock()` stands still
 * until a test advances it. Client, sender and server take the same clock.
 */
export interface Clock {
  /** The time, in milliseconds since 1970. */
  now(): number;
  /**
   * Runs a task once, as soon as the clock has reached `at` (milliseconds since 1970).
   *
   * If the machine's clock is set back meanwhile, the task runs when as much time has passed as there was to wait, so that
   * `now()` is then before `at`. A task that must not run before a time by the clock compares the two and schedules itself
   * again.
   */
  schedule(at: number, task: () => void): ScheduledTask;
  /**
   * Says that work is under way which belongs to this instant. A virtual clock does not move on until the returned function
   * is called.
   */
  hold(): () => void;
}

/**
 * Checks the shape of a clock that a caller injected.
 *
 * @param what - What it was given as, for the error: `createSender({ clock })`.
 * @throws TypeError naming the method that is missing.
 */
export function checkClock(what: string, clock: unknown): void {
  checkPort(what, clock, ["now", "schedule", "hold"]);
}
