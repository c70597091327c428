import type { Clock } from "@countersign/protocol";
import { type Reading, skewOf, unsafeClock } from "./clock-skew.ts";
import { SetClock, setClockReason } from "./set-clock.ts";

/** Whether this process' clock may be gone by: it agrees with the database's, and was not set since. A virtual clock always may. */
export class TrustedClock {
  readonly isVirtual: boolean;
  readonly #setClock: SetClock;
  #unsafe: string | undefined;
  #skewMs = 0;

  constructor(clock: Clock) {
    this.isVirtual = "advance" in clock;
    this.#setClock = new SetClock(clock);
  }

  /** Compares it with the database's. */
  compare(reading: Reading): void {
    if (this.isVirtual) return;
    this.#unsafe = unsafeClock(reading);
    this.#skewMs = skewOf(reading);
    if (this.#unsafe === undefined) this.#setClock.agrees();
  }

  /** Why nothing may be accepted; undefined when it may. */
  get unsafe(): string | undefined {
    if (this.#unsafe !== undefined) return this.#unsafe;
    const byMs = this.setByMs;
    return byMs === 0 ? undefined : setClockReason(byMs);
  }

  /** By how many milliseconds it was ahead when it was compared last. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /** By how many milliseconds it was set since it agreed with the database's. */
  get setByMs(): number {
    return this.isVirtual ? 0 : this.#setClock.byMs;
  }
}
