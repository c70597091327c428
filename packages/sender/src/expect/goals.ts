import { inspect } from "node:util";
import type { Attempt } from "../delivery/attempt.ts";
import type { EndState } from "../delivery/delivery.ts";
import type { ExpectedAttempt, ExpectedDelivery } from "./expect.ts";
import { matches } from "./matches.ts";

/** The goal of an expectation. */
export interface Goal<R> {
  /** Completes "expected a message to ...". */
  readonly text: string;
  /** What a delivery that has reached it resolves to. */
  readonly reached: (delivery: ExpectedDelivery) => R | undefined;
  /** Whether a delivery that has not reached it may still do so. */
  readonly open: (delivery: ExpectedDelivery) => boolean;
}

/** Reached by every delivery that there is. */
export const messageGoal: Goal<ExpectedDelivery> = {
  text: "be accepted",
  reached: (delivery) => delivery,
  open: () => true,
};

/** Reached in one of some states. */
export function endGoal(text: string, ...states: readonly EndState[]): Goal<ExpectedDelivery> {
  return {
    text,
    reached: (delivery) => (states.some((state) => state === delivery.state) ? delivery : undefined),
    open: ({ state }) => state === "pending",
  };
}

/**
 * Reached with so many attempts, or with those of a list as the first ones.
 *
 * @throws TypeError when it is neither a number of at least 1 nor a list of at least one.
 */
export function attemptsGoal(expected: number | readonly ExpectedAttempt[]): Goal<readonly Attempt[]> {
  const count = typeof expected === "number" ? expected : expected.length;
  if (!Number.isInteger(count) || count < 1) {
    throw new TypeError("attempts() takes a number of attempts, 1 or more, or a list of at least one");
  }
  const list = typeof expected === "number" ? [] : expected.map(fieldsOf);
  const soFarAsExpected = (attempts: readonly Attempt[]): boolean =>
    list.every((fields, index) => index >= attempts.length || matches(attempts[index], fields));
  return {
    text:
      typeof expected === "number"
        ? `have ${count} ${count === 1 ? "attempt" : "attempts"}`
        : `have the attempts ${inspect(expected, { breakLength: Infinity })}`,
    reached: ({ attempts }) =>
      attempts.length >= count && soFarAsExpected(attempts)
        ? attempts.slice(0, list.length || undefined)
        : undefined,
    open: ({ state, attempts }) => state === "pending" && soFarAsExpected(attempts),
  };
}

function fieldsOf(expected: ExpectedAttempt): unknown {
  if (typeof expected === "number") {
    return { status: expected };
  }
  return typeof expected === "string" ? { outcome: expected } : expected;
}
