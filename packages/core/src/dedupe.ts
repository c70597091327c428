import { checkOptionNames } from "./option-names.ts";

/** What {@link DedupeStore.claim} found: a first sight of the key, one that is being handled, or one that was handled. */
export type Claim = "new" | "in-flight" | "done";

/**
 * Remembers which deliveries were handled. Delivery is at least once, so a receiver sees repeats.
 *
 * A delivery is claimed before the handler runs, committed when the app answered 2xx, released when it failed. A claim
 * that is neither committed nor released (the process died) must run out by itself, so that a later repeat is handled.
 *
 * Keys are message ids, so give each receiver a store, or a prefix, of its own: where two routes get the same messages
 * and share a store, each message would reach one of them alone.
 */
export interface DedupeStore {
  /** Takes the key, unless it is taken or done. Must be atomic. */
  claim(key: string): Claim | Promise<Claim>;
  /** The delivery was handled: repeats within the store's time to live are `done`. */
  commit(key: string): void | Promise<void>;
  /** The delivery failed: the next repeat is `new`. */
  release(key: string): void | Promise<void>;
}

/** Options of {@link memoryDedupe}. */
export interface MemoryDedupeOptions {
  /** How many keys are remembered; beyond it the oldest handled ones are forgotten. Default: 100,000. */
  readonly max?: number;
  /** For how long a handled delivery is remembered, in ms. Default: 5 hours; deliveries are repeated for 4. */
  readonly ttl?: number;
  /** After how long a claim that was neither committed nor released runs out, in ms. Default: 1 minute. */
  readonly lease?: number;
  /** The time in ms. Default: `Date.now`. */
  readonly now?: () => number;
}

const HOUR = 3_600_000;

/**
 * A {@link DedupeStore} in this process's memory: right for one process, and forgotten when it ends.
 *
 * @param options - Bounds on size and time.
 * @throws TypeError if a bound is not a positive number, or there is no option of a name.
 * @example
 * ```ts
 * const receiver = createReceiver({ secret, dedupe: memoryDedupe() });
 * ```
 */
export function memoryDedupe(options: MemoryDedupeOptions = {}): DedupeStore {
  checkOptionNames("memoryDedupe", options, ["max", "ttl", "lease", "now"]);
  const { max = 100_000, ttl = 5 * HOUR, lease = 60_000, now = Date.now } = options;
  for (const [name, value] of Object.entries({ max, ttl, lease })) {
    if (!(value > 0))
      throw new TypeError(`memoryDedupe: ${name} must be a positive number, but is ${value}.`);
  }
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
