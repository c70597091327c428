// All tests of the sender, on PostgreSQL: `pnpm test:postgres`. `npm test` runs a part of them.
import { spawnSync } from "node:child_process";

const ARGS = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--config",
  "packages/postgres/test/sender/vitest.config.ts",
];
const env = { ...process.env, COUNTERSIGN_WHOLE_SENDER: "1" };
const { status } = spawnSync(process.execPath, [...ARGS, ...process.argv.slice(2)], {
  stdio: "inherit",
  env,
});
process.exitCode = status ?? 1;
