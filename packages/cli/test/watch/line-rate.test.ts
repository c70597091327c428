import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LineRate } from "../../src/watch/line-rate.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function rateOf(limit: number): { rate: LineRate; sums: Record<string, number>[] } {
  const sums: Record<string, number>[] = [];
  const rate = new LineRate({ limit, summarise: (counts) => sums.push(Object.fromEntries(counts)) });
  return { rate, sums };
}

it("shows lines one by one up to the limit, then sums up those of each second by kind", () => {
  const { rate, sums } = rateOf(3);
  expect(["a", "a", "b", "a", "b"].map((kind) => rate.allows(kind))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(sums).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(sums).toEqual([{ a: 1, b: 1 }]);
});

it("goes on summing up without lines in between while there are too many, and stops when there are not", () => {
  const { rate, sums } = rateOf(3);
  for (let second = 0; second < 3; second += 1) {
    const shown = Array.from({ length: 10 }, () => rate.allows("a"));
    expect(shown.filter(Boolean)).toHaveLength(second === 0 ? 3 : 0);
    vi.advanceTimersByTime(1_000);
  }
  expect(sums).toEqual([{ a: 7 }, { a: 10 }, { a: 10 }]);
  // One more second in which there are few.
  expect(rate.allows("a")).toBe(false);
  vi.advanceTimersByTime(1_000);
  expect(rate.allows("a")).toBe(true);
});

it("counts lines that are always printed, so that a flood of failures silences the others", () => {
  const { rate, sums } = rateOf(3);
  for (let n = 0; n < 3; n += 1) rate.always();
  expect(rate.allows("a")).toBe(false);
  rate.close();
  expect(sums).toEqual([{ a: 1 }]);
});

it("sums up at the end what it has left out, and leaves no timer", () => {
  const { rate, sums } = rateOf(1);
  rate.allows("a");
  rate.allows("a");
  rate.close();
  expect(sums).toEqual([{ a: 1 }]);
  expect(vi.getTimerCount()).toBe(0);
});
