import { expect, it } from "vitest";
import { runTarget } from "./harness.ts";
import { targets } from "./targets.ts";

// `pnpm fuzz` sets these; see run.mjs. Without them, 50,000 cases from one seed: the same in every run of the tests.
const {
  FUZZ_CASES = "50000",
  FUZZ_SEED = "2202",
  FUZZ_TARGET: only,
  FUZZ_PATH: path,
  FUZZ_PROGRESS: progressFile,
} = process.env;
const run = { cases: Number(FUZZ_CASES), seed: Number(FUZZ_SEED), progressFile };
const chosen = targets.filter(({ name }) => only === undefined || name === only);

/** A million cases of a target take minutes; a case that hangs still ends the run. */
const TIMEOUT_MS = 120_000 + run.cases * 4;

it("has targets whose shares add up to the whole", () => {
  expect(chosen).not.toEqual([]);
  expect(targets.reduce((sum, { share }) => sum + share, 0)).toBe(1_000);
});

it.each(chosen)(
  "$name",
  async (target) => {
    if (path !== undefined)
      return expect(target.runBlock({ seed: run.seed, cases: 1, path })).resolves.toBeUndefined();
    const passed = await runTarget(target, run);
    process.stdout.write(`fuzz: ${target.name}: ${passed} cases passed, seed ${run.seed}\n`);
    return expect(passed).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
