/** Something scheduled, that can still be called off. */
export interface ScheduledTask {
  /** Calls it off. Does nothing once it has run. */
  cancel(): void;
}

/**
 * Where a sender reads time from, and what wakes it.
 *
 * `systemClock()` follows the machine, `virtualClock()` stands still until it is advanced. Both keep what is scheduled
 * in the same queue.
 */
export interface Clock {
  /** The time, in milliseconds since 1970. */
  now(): number;
  /** Runs a task once, as soon as the clock has reached `at` (milliseconds since 1970). */
  schedule(at: number, task: () => void): ScheduledTask;
  /**
   * Says that work is under way which belongs to this instant, until the returned function is called.
   * A virtual clock does not move on before.
   */
  hold(): () => void;
}
