// The long run of the fuzz targets: pnpm fuzz [--cases 1000000] [--seed N] [--target NAME] [--path PATH] [--fresh]
// A run that was stopped, or failed, goes on where it was when it is started again; --fresh forgets it.
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const progressFile = `${root}node_modules/.cache/countersign-fuzz.json`;
const { values } = parseArgs({
  options: {
    cases: { type: "string" },
    seed: { type: "string" },
    target: { type: "string" },
    path: { type: "string" },
    fresh: { type: "boolean" },
  },
});

if (values.fresh) rmSync(progressFile, { force: true });
const before = existsSync(progressFile) ? JSON.parse(readFileSync(progressFile, "utf8")) : {};
const cases = values.cases ?? String(before.cases ?? 1_000_000);
const seed = values.seed ?? String(before.seed ?? randomInt(2 ** 31));
const goesOn = String(before.seed) === seed && String(before.cases) === cases;
process.stdout.write(`fuzz: ${cases} cases, seed ${seed}${goesOn ? ", going on where it was" : ""}\n`);

const vitest = `${root}node_modules/vitest/vitest.mjs`;
const { status } = spawnSync(
  process.execPath,
  [vitest, "run", "--project", "tests", "tests/fuzz/fuzz.test.ts"],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      FUZZ_CASES: cases,
      FUZZ_SEED: seed,
      ...(values.target !== undefined && { FUZZ_TARGET: values.target }),
      ...(values.path !== undefined && { FUZZ_PATH: values.path }),
      ...(values.path === undefined && { FUZZ_PROGRESS: progressFile }),
    },
  },
);
if (status === 0 && values.target === undefined) rmSync(progressFile, { force: true });
process.exitCode = status ?? 1;
