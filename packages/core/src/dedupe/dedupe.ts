import {
  checkFunction,
  checkOptionNames,
  LEASE_SYNONYMS,
  TTL_SYNONYMS,
  type OptionNames,
} from "@countersign/protocol/options";

/** The result of {@link DedupeStore.claim}: a new key, one whose delivery is being handled, or one that was handled. */
export type Claim = "new" | "in-flight" | "done";

/**
 * Remembers which deliveries were handled. Delivery is at least once, so a receiver sees repeats.
 *
 * A receiver claims a delivery before the handler runs, commits it when the app answered 2xx, and releases it when the app
 * failed. A claim that is neither committed nor released (the process died) must expire by itself, so that a later repeat
 * is handled.
 *
 * A key is 64 hex digits, made from the tenant and the message. Give each receiver its own store, or its own prefix: if two
 * routes get the same messages and share a store, each message reaches only one of them.
 */
export interface DedupeStore {
  /** Takes the key if it is new. Must be atomic. */
  claim(key: string): Claim | Promise<Claim>;
  /** The delivery was handled: until the store's time to live ends, repeats are `done`. */
  commit(key: string): void | Promise<void>;
  /**
   * The delivery failed: the next repeat is `new`. A receiver does not release a claim whose lease has ended and whose key the same
   * process has claimed again since. Where processes share a store, it must not free the claim of another one.
   */
  release(key: string): void | Promise<void>;
}

/** Options of {@link memoryDedupe}. */
export interface MemoryDedupeOptions {
  /** How many handled keys are remembered. Beyond it, the oldest are forgotten. Default: 100,000. */
  readonly max?: number | undefined;
  /** How long a handled delivery is remembered, in ms. The sender repeats deliveries for 4 hours. Default: 5 hours. */
  readonly ttl?: number | undefined;
  /** When a claim expires that is neither committed nor released, in ms. Default: 1 minute. */
  readonly lease?: number | undefined;
  /** The time in ms. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const HOUR = 3_600_000;

const OPTION_NAMES: OptionNames<MemoryDedupeOptions> = {
  max: ["limit maxsize maxentries"],
  ttl: TTL_SYNONYMS,
  lease: LEASE_SYNONYMS,
  now: true,
};

/**
 * A {@link DedupeStore} in the memory of one process. It is lost when the process ends.
 *
 * @param options - Bounds on size and time.
 * @throws TypeError if a bound is not a positive number, or an option is unknown.
 * @example
 * ```ts
 * const receiver = createReceiver({ secret, dedupe: memoryDedupe() });
 * ```
 */
export function memoryDedupe(options: MemoryDedupeOptions = {}): DedupeStore {
  checkOptionNames("memoryDedupe()", options, OPTION_NAMES);
  const { max = 100_000, ttl = 5 * HOUR, lease = 60_000, now = Date.now } = options;
  for (const [name, value] of Object.entries({ max, ttl, lease })) {
    // Text, as of an environment variable, would be appended to a time instead of added: such a claim never expires.
    if (typeof value !== "number" || !(value > 0))
      throw new TypeError(
        `memoryDedupe: ${name} must be a positive number${name === "max" ? "" : " of milliseconds"}, but is ${typeof value} ${value}.`,
      );
  }
  checkFunction("memoryDedupe({ now })", now);
  // A Map keeps the order of insertion, and every entry of one map lives equally long: the first is the oldest.
  const inFlight = new Map<string, number>();
  const done = new Map<string, number>();

  return {
    claim(key) {
      const time = now();
      forgetUntil(time, done);
      forgetUntil(time, inFlight);
      if (isAlive(key, time, done)) return "done";
      if (isAlive(key, time, inFlight)) return "in-flight";
      inFlight.set(key, time + lease);
      return "new";
    },
    commit(key) {
      inFlight.delete(key);
      done.delete(key);
      done.set(key, now() + ttl);
      for (const oldest of done.keys()) {
        if (done.size <= max) break;
        done.delete(oldest);
      }
    },
    release(key) {
      inFlight.delete(key);
    },
  };
}

// Where the clock was set back, an entry may have run out behind one that has not.
function isAlive(key: string, time: number, entries: Map<string, number>): boolean {
  const end = entries.get(key);
  return end !== undefined && end > time;
}

function forgetUntil(time: number, entries: Map<string, number>): void {
  for (const [key, end] of entries) {
    if (end > time) return;
    entries.delete(key);
  }
}
