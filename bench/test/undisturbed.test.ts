import { expect, it } from "vitest";
import { undisturbed } from "../src/harness/undisturbed.ts";

/** Rounds numbered from 1, in which the host takes these parts of the cores. */
function rounds(stolen: readonly (number | undefined)[]) {
  let made = 0;
  return {
    round: () => Promise.resolve((made += 1)),
    watch: () => () => stolen[made - 1],
    made: () => made,
  };
}

it("rounds that the host left alone are not repeated", async () => {
  const { round, watch, made } = rounds([0, 0.005, 0, 0]);
  expect(await undisturbed(3, round, watch)).toEqual([1, 3, 2]);
  expect(made()).toBe(3);
});

it("a round that the host disturbed is measured again, whatever it measured", async () => {
  const { round, watch } = rounds([0.5, 0, 0.01, 0.005]);
  expect(await undisturbed(2, round, watch)).toEqual([2, 4]);
});

it("on a machine that is never left alone, those with the least disturbance count, after four times as many", async () => {
  const { round, watch, made } = rounds([0.9, 0.8, 0.3, 0.7, 0.1, 0.6, 0.5, 0.4]);
  expect(await undisturbed(2, round, watch)).toEqual([5, 3]);
  expect(made()).toBe(8);
});

it("where the system does not tell, the first rounds count", async () => {
  const { round, watch, made } = rounds([]);
  expect(await undisturbed(2, round, watch)).toEqual([1, 2]);
  expect(made()).toBe(2);
});
