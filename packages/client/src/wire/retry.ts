import type { TryLater } from "./answer.ts";

/** When to try again. */
export interface RetryOptions {
  /**
   * Milliseconds after which a batch that keeps failing is dropped, counted from its first attempt. The time that a 429
   * asks to wait in its Retry-After does not count, nor the time for which the machine slept. 0 sends a batch once.
   * Default: 3,600,000, an hour.
   */
  readonly giveUpAfter?: number | undefined;
  /** Milliseconds of the shortest delay, at least 1. Default: 500. */
  readonly minDelay?: number | undefined;
  /** Milliseconds of the longest delay that this client chooses itself, at least `minDelay`. Default: 30,000. */
  readonly maxDelay?: number | undefined;
  /** Milliseconds of the longest Retry-After that is respected; a longer one is cut to this. Default: 300,000. */
  readonly maxRetryAfter?: number | undefined;
}

/** {@link RetryOptions} with every value filled in. */
export type RetryPolicy = { readonly [Name in keyof RetryOptions]-?: number };

/** The history of a batch when an attempt has failed. */
export interface Failing {
  /** Attempts that failed, without those that a 429 answered with a Retry-After. */
  readonly failures: number;
  /** Milliseconds of `giveUpAfter` that are used up. */
  readonly spent: number;
}

/**
 * How many milliseconds to wait before the next attempt.
 *
 * The delay is random between `minDelay` and a bound that doubles with every failure, so that clients that failed together
 * do not come back together. A Retry-After can make it longer and never shorter: 0, or a date that has passed, is no
 * reason to hurry.
 *
 * @param random - A number from 0 up to 1.
 */
export function retryDelay(
  { failures, spent }: Failing,
  answer: TryLater,
  policy: RetryPolicy,
  random: number,
): number {
  const { giveUpAfter, minDelay, maxDelay, maxRetryAfter } = policy;
  const asked = Math.min(answer.retryAfter, maxRetryAfter);
  if (answer.paced) return Math.max(asked, minDelay);
  const bound = Math.min(maxDelay, minDelay * 2 ** failures);
  const delay = minDelay + random * (bound - minDelay);
  // The last attempt is made when the time is up, not left out because the next one would come after it.
  return Math.max(asked, Math.min(delay, giveUpAfter - spent));
}
