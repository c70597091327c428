import type { TryLater } from "./answer.ts";

/** When to try again. */
export interface RetryOptions {
  /** Attempts after the first. Default: 10. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds of the first delay at most; it doubles with each attempt. Default: 500. */
  readonly minDelay?: number | undefined;
  /** Milliseconds a delay is capped at. Default: 30,000. */
  readonly maxDelay?: number | undefined;
  /** Milliseconds of a Retry-After that are heeded at most. Default: 300,000. */
  readonly maxRetryAfter?: number | undefined;
}

/** {@link RetryOptions} with every value filled in. */
export type RetryPolicy = { readonly [Name in keyof RetryOptions]-?: number };

/**
 * How many milliseconds to wait before the next attempt, or `undefined` to give up.
 *
 * Full jitter: a random part of the doubled delay, so that clients that failed together do not come back together. What
 * the service asks for goes before it.
 *
 * @param attempts - Attempts made so far, 1 after the first.
 * @param random - A number from 0 up to 1.
 */
export function retryDelay(
  attempts: number,
  answer: TryLater,
  policy: RetryPolicy,
  random: number,
): number | undefined {
  if (attempts > policy.maxRetries) return undefined;
  if (answer.retryAfter !== undefined) return Math.min(answer.retryAfter, policy.maxRetryAfter);
  return random * Math.min(policy.maxDelay, policy.minDelay * 2 ** (attempts - 1));
}
