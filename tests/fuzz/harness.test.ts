import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fuzzTarget, runTarget } from "./harness.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-fuzz-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A target that fails above a number, and counts its cases. */
function failingAbove(limit: number) {
  const seen: number[] = [];
  const target = fuzzTarget({
    name: "numbers",
    share: 1_000,
    input: fc.nat(1_000_000),
    check(number) {
      seen.push(number);
      if (number > limit) throw new Error(`${number} is too much`);
    },
  });
  return { seen, target };
}

it("names the seed and the path of a failure, which repeat its smallest case", async () => {
  const { target, seen } = failingAbove(500_000);
  const failure = await runTarget(target, { cases: 1_000, seed: 1 }).catch((error: unknown) => String(error));
  expect(failure).toContain("500001 is too much");
  const [, seed, path] = /--target "numbers" --seed (-?\d+) --path "([\d:]+)"/.exec(String(failure)) ?? [];
  seen.length = 0;
  const replay = { seed: Number(seed), cases: 1, path };
  await expect(target.runBlock(replay)).rejects.toThrow("500001 is too much");
  expect(seen[0]).toBe(500_001);
});

it("goes on after the last block that passed, with the cases that an unbroken run has", async () => {
  const progressFile = join(folder, "progress.json");
  const run = { cases: 3_500, seed: 7 };
  const unbroken = failingAbove(Infinity);
  await runTarget(unbroken.target, run);

  let left = 2_300;
  const broken: number[] = [];
  const target = (stop: boolean) =>
    fuzzTarget({
      name: "numbers",
      share: 1_000,
      input: fc.nat(1_000_000),
      check(number) {
        if (stop && (left -= 1) < 0) throw new Error("stopped");
        broken.push(number);
      },
    });
  await expect(runTarget(target(true), { ...run, progressFile })).rejects.toThrow("stopped");
  const passed = broken.slice(0, 2_000);
  broken.length = 0;
  expect(await runTarget(target(false), { ...run, progressFile })).toBe(3_500);
  expect([...passed, ...broken]).toEqual(unbroken.seen);
});
