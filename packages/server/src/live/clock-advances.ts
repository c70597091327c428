import { clearTimeout, setTimeout } from "node:timers";
import { parseDuration, type Duration, type VirtualClock } from "@countersign/protocol";

/** What is done sooner is not told of meanwhile. */
const SLOW_MS = 400;

/** The last time that a Date can hold. */
const LATEST = 8.64e15;

/** Advances a virtual clock, and knows to when while that takes long: receivers have to answer what becomes due on the way. */
export class ClockAdvances {
  readonly #clock: VirtualClock;
  readonly #onSlow: (target: number) => void;
  #target: number | undefined;
  #underWay = 0;

  /** @param onSlow Called with the target when an advance takes long. */
  constructor(clock: VirtualClock, onSlow: (target: number) => void) {
    this.#clock = clock;
    this.#onSlow = onSlow;
  }

  /** The time at the end of those that are under way, in milliseconds since 1970; undefined if there is none. */
  get target(): number | undefined {
    return this.#target;
  }

  /**
   * Advances the clock, after those that are under way.
   *
   * @throws TypeError if it is not a duration, or goes past the last time that a Date can hold.
   */
  async advance(duration: Duration): Promise<void> {
    const ms = parseDuration(duration, "advance()");
    this.#target = Math.min((this.#target ?? this.#clock.now()) + ms, LATEST);
    this.#underWay += 1;
    const timer = setTimeout(() => this.#onSlow(this.#target ?? this.#clock.now()), SLOW_MS);
    try {
      await this.#clock.advance(ms);
    } finally {
      clearTimeout(timer);
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#target = undefined;
    }
  }
}
