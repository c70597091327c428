import { checkOptionNames } from "@countersign/protocol";

/** When a delivery is tried again. Everything is in milliseconds. */
export interface RetryPolicy {
  /** Longest delay before the first retry. Doubles with each retry. Default: 5,000. */
  readonly firstDelayMs: number;
  /** Longest delay before any retry. Default: 900,000 (15 min). */
  readonly maxDelayMs: number;
  /** Each delay is multiplied by a random number between this and 1. Default: 0.5. */
  readonly minJitter: number;
  /**
   * How long after acceptance the last retry must have ended. At most a hundred years. Default: 14,400,000, four hours
   * (spec 8).
   */
  readonly windowMs: number;
  /** How long before the end of the window the last retry starts, so that it ends inside. Default: 5,000, an attempt's time. */
  readonly lastRetryMarginMs: number;
}

/** The default policy (spec 7, 8): 5 s doubling to 15 min, times 0.5 to 1, for four hours from acceptance. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  firstDelayMs: 5_000,
  maxDelayMs: 900_000,
  minJitter: 0.5,
  windowMs: 14_400_000,
  lastRetryMarginMs: 5_000,
};

/** A hundred years. At the end of a longer window would be a time that no Date can hold, and so nothing could tell. */
const LONGEST_WINDOW_MS = 3_155_760_000_000;

/** The input of the decision. */
export interface RetryInput {
  /** Rounds that have ended, this one included: at least 1. */
  readonly rounds: number;
  /** When the delivery was accepted, in milliseconds since 1970. */
  readonly acceptedAt: number;
  /** When the round ended, in milliseconds since 1970. */
  readonly now: number;
  /** A random number, at least 0 and less than 1. */
  readonly random: number;
  /** The earliest time the endpoint wants to be called at (Retry-After), in milliseconds since 1970. */
  readonly notBefore?: number | undefined;
}

/**
 * When to try again, in milliseconds since 1970; undefined when the window leaves no time for it.
 *
 * A retry that would fall outside the window is moved to its end: an endpoint that recovers in the last minute still
 * gets the message. Pure: the same input gives the same answer.
 */
export function nextRetryAt(
  input: RetryInput,
  policy: RetryPolicy = DEFAULT_RETRY_POLICY,
): number | undefined {
  const { rounds, acceptedAt, now, random, notBefore = 0 } = input;
  const lastRetryAt = acceptedAt + policy.windowMs - policy.lastRetryMarginMs;
  if (now >= lastRetryAt) return undefined;
  const longest = Math.min(policy.firstDelayMs * 2 ** (rounds - 1), policy.maxDelayMs);
  const delay = longest * (policy.minJitter + (1 - policy.minJitter) * random);
  return Math.min(Math.max(Math.round(now + delay), notBefore), lastRetryAt);
}

/**
 * A policy with the defaults filled in.
 *
 * @param what The function that was given it.
 * @throws TypeError when a number is out of range or a field is unknown
 */
export function parseRetryPolicy(what: string, policy: Partial<RetryPolicy> = {}): RetryPolicy {
  const parsed = { ...DEFAULT_RETRY_POLICY };
  checkOptionNames(`${what}({ retry })`, policy, { ...DEFAULT_RETRY_POLICY });
  for (const name of Object.keys(policy).filter(isPolicyField)) {
    const value = policy[name];
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value >= 0) || value === Number.POSITIVE_INFINITY) {
      throw new TypeError(`${what}({ retry: { ${name} } }) must be a number, at least 0.`);
    }
    parsed[name] = value;
  }
  if (parsed.windowMs > LONGEST_WINDOW_MS) {
    throw new TypeError(
      `${what}({ retry: { windowMs } }) must be at most ${LONGEST_WINDOW_MS}, a hundred years, not ${parsed.windowMs}.`,
    );
  }
  if (parsed.minJitter > 1) throw new TypeError(`${what}({ retry: { minJitter } }) must be at most 1.`);
  return parsed;
}

function isPolicyField(name: string): name is keyof RetryPolicy {
  return Object.hasOwn(DEFAULT_RETRY_POLICY, name);
}
