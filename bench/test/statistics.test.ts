import { describe, expect, it } from "vitest";
import { median, quantile, spreadOf } from "../src/harness/statistics.ts";

describe("the median", () => {
  it.each([
    [[3], 3],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 100], 10],
  ])("of %j is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it("of no values is an error, not NaN", () => {
    expect(() => median([])).toThrow(RangeError);
  });

  it("leaves the values in their order", () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe("a quantile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it.each([
    [0, 1],
    [0.5, 50],
    [0.99, 99],
    [0.991, 100],
    [1, 100],
  ])("of share %d of 1 to 100 is %d", (share, expected) => {
    expect(quantile(hundred, share)).toBe(expected);
  });

  it("of no values is an error", () => {
    expect(() => quantile([], 0.99)).toThrow(RangeError);
  });
});

it("a spread holds the median and both ends", () => {
  expect(spreadOf([1.2, 0.8, 1])).toEqual({ median: 1, low: 0.8, high: 1.2 });
});
