import { describe, expect, it } from "vitest";
import { layOut } from "../../src/screens/delivery/time-axis.ts";

const MINUTE = 60_000;

describe("the axis of time", () => {
  it("shows thirty attempts in four hours within a width that can be read", () => {
    const spans = Array.from({ length: 30 }, (_, index) => ({
      startedAt: Math.round((index / 29) ** 3 * 240 * MINUTE),
      durationMs: 4,
    }));
    const { width, places, folds } = layOut(spans, 5_000);
    expect(width).toBeLessThan(1_400);
    expect(folds.length).toBeGreaterThan(20);
    for (const [index, { from, width: own }] of places.entries()) {
      expect(own).toBeGreaterThanOrEqual(7);
      const next = places[index + 1];
      if (next) expect(next.from).toBeGreaterThanOrEqual(from + own);
    }
  });

  it("draws an attempt that used up its time wider than one that did not", () => {
    const spans = [
      { startedAt: 0, durationMs: 5_000 },
      { startedAt: 10 * MINUTE, durationMs: 5 },
    ];
    const [late, quick] = layOut(spans, 5_000).places;
    expect(late?.width).toBeGreaterThan(5 * (quick?.width ?? 0));
  });

  it("draws attempts of one round at the same place, and folds no time in which one of them runs", () => {
    const spans = [
      { startedAt: 0, durationMs: 5_000 },
      { startedAt: 0, durationMs: 3 },
    ];
    const { places, folds } = layOut(spans, 5_000);
    expect(places[0]?.from).toBe(places[1]?.from);
    expect(folds).toEqual([]);
  });

  it("has room for a single attempt of no length", () => {
    expect(layOut([{ startedAt: 5, durationMs: 0 }], 5_000).width).toBeGreaterThan(0);
  });
});
