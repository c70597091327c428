import { expect, it } from "vitest";
import { heightOf } from "../../src/parts/virtual.ts";

it("a list is as high as its rows, but never so high that Firefox shows nothing of it", () => {
  expect(heightOf(100_000, 58)).toBe(5_800_000);
  expect(heightOf(500_000, 36)).toBeLessThan(17_895_697);
});
