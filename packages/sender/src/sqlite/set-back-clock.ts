import type { Clock, ScheduledTask } from "@countersign/protocol";
import type { StoreState } from "../store/delivery-store.ts";
import { clockWasSet, LARGEST_SKEW_MS } from "../store/set-clock.ts";

/**
 * Notices that this machine's clock was set back: when a lane is woken after the time that it was to wait, the clock shows an earlier
 * time. The store can be used, but what waits is late. It says so until the clock has caught up.
 */
export class SetBackClock {
  readonly #clock: Clock;
  readonly #changed: (state: StoreState) => void;
  /** The state of the store, apart from the clock. */
  #state: StoreState = { state: "up" };
  #reason: string | undefined;
  #caughtUp: { readonly at: number; readonly task: ScheduledTask } | undefined;

  /** @param changed Is told the state of the store; if it is up, with what is wrong with the clock. */
  constructor(clock: Clock, changed: (state: StoreState) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** The state of the store itself has changed. */
  readonly stateChanged = (state: StoreState): void => {
    this.#state = state;
    this.#tell();
  };

  /** A lane was woken that had asked for this time. */
  readonly woken = (at: number): void => {
    const aheadMs = at - this.#clock.now();
    if (aheadMs <= LARGEST_SKEW_MS || at <= (this.#caughtUp?.at ?? Number.NEGATIVE_INFINITY)) return;
    this.stop();
    this.#reason = `${clockWasSet(-aheadMs)} Deliveries that wait are late by as much. If the clock is right now, retry them; if not, correct it, with NTP.`;
    const task = this.#clock.schedule(at, () => {
      this.#caughtUp = undefined;
      this.#reason = undefined;
      // It may have been set back again.
      this.woken(at);
      if (this.#caughtUp === undefined) this.#tell();
    });
    this.#caughtUp = { at, task };
    this.#tell();
  };

  /** Waits no longer. */
  stop(): void {
    this.#caughtUp?.task.cancel();
    this.#caughtUp = undefined;
  }

  #tell(): void {
    const { state } = this.#state;
    this.#changed(state === "up" ? { state, reason: this.#reason } : this.#state);
  }
}
