/** The counts of one minute. */
export interface MinuteStats {
  /** When the minute began, in milliseconds since 1970 by the sender's clock. */
  readonly at: number;
  /** Deliveries accepted. */
  readonly accepted: number;
  /** Attempts that ended. */
  readonly attempts: number;
  /** Attempts that did not end in success. */
  readonly failures: number;
  /** Attempts that succeeded after more than four fifths of the time. */
  readonly nearMisses: number;
  /** Deliveries that an endpoint accepted. */
  readonly delivered: number;
  /** Deliveries that every endpoint rejected. */
  readonly failed: number;
  /** Deliveries that no endpoint accepted in time. */
  readonly expired: number;
}

type Counted = Exclude<keyof MinuteStats, "at">;

const MINUTE_MS = 60_000;
const KEPT_MINUTES = 60;

/** Counts what happens, by minute, for the last hour. */
export class MinuteCounts {
  readonly #clock: { readonly now: () => number };
  /** One place for each minute of an hour; what stands there may be of an earlier hour. */
  readonly #places: ({ -readonly [K in keyof MinuteStats]: number } | undefined)[] = [];

  constructor(clock: { readonly now: () => number }) {
    this.#clock = clock;
  }

  add(counted: Counted, number = 1): void {
    const minute = this.#minute();
    const at = minute * MINUTE_MS;
    const place = minute % KEPT_MINUTES;
    const known = this.#places[place];
    const counts = known?.at === at ? known : nothingAt(at);
    counts[counted] += number;
    this.#places[place] = counts;
  }

  /** The last sixty minutes, oldest first, the running one included. */
  snapshot(): readonly MinuteStats[] {
    const last = this.#minute();
    return Array.from({ length: KEPT_MINUTES }, (_, index) => {
      const minute = last - KEPT_MINUTES + 1 + index;
      const at = minute * MINUTE_MS;
      const known = this.#places[minute % KEPT_MINUTES];
      return known?.at === at ? { ...known } : nothingAt(at);
    });
  }

  #minute(): number {
    return Math.floor(this.#clock.now() / MINUTE_MS);
  }
}

function nothingAt(at: number): { -readonly [K in keyof MinuteStats]: number } {
  return { at, accepted: 0, attempts: 0, failures: 0, nearMisses: 0, delivered: 0, failed: 0, expired: 0 };
}
