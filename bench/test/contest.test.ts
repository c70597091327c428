import { describe, expect, it } from "vitest";
import { alternate, ratiosOf, valuesOf } from "../src/harness/contest.ts";
import { atMost, compare } from "../src/harness/row.ts";

/** Contenders that note when they are measured, and measure what they are given. */
function contendersOf(values: Readonly<Record<string, readonly number[]>>, log: string[] = []) {
  return Object.entries(values).map(([name, measurements]) => {
    let next = 0;
    return {
      name,
      measure: () => {
        log.push(name);
        return measurements[next++] ?? 1;
      },
    };
  });
}

describe("a contest", () => {
  it("measures every contender once a round, forwards and backwards in turn", async () => {
    const log: string[] = [];
    await alternate(contendersOf({ a: [], b: [], c: [] }, log), { rounds: 3, warmups: 1 });
    expect(log.join("")).toBe("cbaabccbaabc");
  });

  it("alternates within a round, too, where contenders have several turns", async () => {
    const log: string[] = [];
    await alternate(contendersOf({ a: [], b: [] }, log), { rounds: 2, warmups: 0, turns: 3 });
    expect(log.join("")).toBe("abbaabbaabba");
  });

  it("takes the rate over all turns of a round, in which a slow turn weighs by its time", async () => {
    // The same work at 100 a second, then at 25: two pieces in 1 + 4 hundredths of a second.
    const measured = await alternate(contendersOf({ a: [100, 25] }), { rounds: 1, warmups: 0, turns: 2 });
    expect(valuesOf(measured, "a")[0]).toBeCloseTo(40);
  });

  it("does not count the rounds that warm up", async () => {
    const measured = await alternate(contendersOf({ a: [100, 1, 2] }), { rounds: 2, warmups: 1 });
    expect(valuesOf(measured, "a")).toEqual([1, 2]);
  });

  it("waits for a contender before it measures the next", async () => {
    const log: string[] = [];
    const slow = async (name: string): Promise<number> => {
      log.push(`${name} begins`);
      await new Promise(setImmediate);
      log.push(`${name} ends`);
      return 1;
    };
    const contenders = ["a", "b"].map((name) => ({ name, measure: () => slow(name) }));
    await alternate(contenders, { rounds: 1, warmups: 0 });
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses %d as a measurement, and says whose it is",
    async (value) => {
      const contenders = contendersOf({ good: [1], bad: [value] });
      await expect(alternate(contenders, { rounds: 1, warmups: 0 })).rejects.toThrow(`bad measured ${value}`);
    },
  );

  it("refuses two contenders of one name, whose measurements would be mixed", async () => {
    const twice = [...contendersOf({ a: [1] }), ...contendersOf({ a: [2] })];
    await expect(alternate(twice, { rounds: 1 })).rejects.toThrow("same name");
  });
});

describe("a comparison", () => {
  it("takes the median of the rounds' ratios, not the ratio of the medians", async () => {
    // The machine was ten times slower in the second round, for both.
    const measured = await alternate(contendersOf({ ours: [3, 40, 5], theirs: [1, 10, 5] }), {
      rounds: 3,
      warmups: 0,
    });
    expect(ratiosOf(measured, "ours", "theirs")).toEqual([3, 4, 1]);
    const row = compare(measured, {
      what: "w",
      against: "a",
      unit: "µs",
      ours: "ours",
      theirs: "theirs",
      target: atMost(3),
    });
    expect(row).toMatchObject({ ours: 5, theirs: 5, ratio: { median: 3, low: 1, high: 4 } });
  });

  it("with a contender that did not take part is an error", async () => {
    const measured = await alternate(contendersOf({ ours: [1] }), { rounds: 1 });
    expect(() => ratiosOf(measured, "ours", "thiers")).toThrow("No contender is called thiers");
  });
});
