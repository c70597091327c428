import type { Clock } from "@countersign/protocol";
import { clockWasSet, LARGEST_SKEW_MS } from "@countersign/sender/store";

/**
 * Notices at once that this machine's clock was set. A heartbeat compares it with the database's, and comes too late for what is
 * done until then: by a clock that was set forward by five hours, all that waits is due and has expired.
 */
export class SetClock {
  readonly #clock: Clock;
  /** How far it was ahead of the time that passes, when it agreed with the database's. */
  #aheadMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It agrees with the database's now. */
  agrees(): void {
    this.#aheadMs = this.#ahead();
  }

  /** By how many milliseconds it was set since then: negative if back, 0 if by no more than is safe, or if it has not agreed yet. */
  get byMs(): number {
    if (this.#aheadMs === undefined) return 0;
    const byMs = this.#ahead() - this.#aheadMs;
    return Math.abs(byMs) > LARGEST_SKEW_MS ? byMs : 0;
  }

  #ahead(): number {
    for (;;) {
      const before = uptime();
      const now = this.#clock.now();
      // The process may have stood still between the two readings.
      if (uptime() - before < LARGEST_SKEW_MS / 4) return now - before;
    }
  }
}

/** The time that passes, whether or not somebody sets the clock, in milliseconds. */
function uptime(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Why nothing is accepted until the next heartbeat. */
export function setClockReason(byMs: number): string {
  return `${clockWasSet(byMs)} Nothing is accepted or delivered here until it was compared with the clock of the database: repeat it in a second.`;
}
