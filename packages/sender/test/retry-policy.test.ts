import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_RETRY_POLICY, nextRetryAt } from "../dist/delivery/retry-policy.js";

const acceptedAt = Date.UTC(2026, 0, 1);
const { windowMs, lastRetryMarginMs } = DEFAULT_RETRY_POLICY;
const lastRetryAt = acceptedAt + windowMs - lastRetryMarginMs;

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const rounds = fc.integer({ min: 1, max: 1_000 });
const sinceAcceptance = fc.integer({ min: 0, max: 2 * windowMs });
const notBefore = fc.option(fc.integer({ min: 0, max: acceptedAt * 2 }), { nil: undefined });

describe("nextRetryAt", () => {
  it.each([
    [1, 2_500, 5_000],
    [2, 5_000, 10_000],
    [3, 10_000, 20_000],
    [8, 320_000, 640_000],
    [9, 450_000, 900_000],
    [40, 450_000, 900_000],
  ])("after round %i it waits %i to %i ms", (round, least, most) => {
    const at = (random: number): number | undefined =>
      nextRetryAt({ rounds: round, acceptedAt, now: acceptedAt, random });
    expect(at(0)).toBe(acceptedAt + least);
    expect(at(1 - Number.EPSILON)).toBe(acceptedAt + most);
  });

  it("an answer is in the future and inside the window, and there is one until the last retry", () => {
    fc.assert(
      fc.property(rounds, sinceAcceptance, random, notBefore, (rounds, elapsed, random, notBefore) => {
        const now = acceptedAt + elapsed;
        const at = nextRetryAt({ rounds, acceptedAt, now, random, notBefore });
        if (now >= lastRetryAt) return at === undefined;
        return at !== undefined && at > now && at <= lastRetryAt;
      }),
    );
  });

  it("Retry-After is heeded unless the window ends before", () => {
    fc.assert(
      fc.property(
        rounds,
        random,
        fc.integer({ min: acceptedAt, max: acceptedAt + 2 * windowMs }),
        (rounds, random, notBefore) => {
          const at = nextRetryAt({ rounds, acceptedAt, now: acceptedAt, random, notBefore });
          return at !== undefined && at >= Math.min(notBefore, lastRetryAt);
        },
      ),
    );
  });
});
