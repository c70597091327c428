// All tests of the sender, on PostgreSQL: `pnpm test:postgres`. `npm test` runs a part of them. `pnpm test:postgres 17` installs that
// version for as long as it takes, and also runs the tests of this package and of the command on it.
import { spawnSync } from "node:child_process";
import { installServer } from "../support/server-of-version.mjs";

const SENDER = ["--config", "packages/postgres/test/sender/vitest.config.ts"];
const OTHERS = [
  "packages/postgres/test",
  "packages/cli/test/commands/docs.test.ts",
  "packages/cli/test/commands/outages.test.ts",
  "packages/cli/test/commands/store.test.ts",
  "tests/distribution/scale.test.ts",
];

const [first = "", ...others] = process.argv.slice(2);
const version = /^\d+$/.test(first) ? first : undefined;
const rest = version === undefined ? process.argv.slice(2) : others;
const server = version === undefined ? undefined : installServer(version);
const env = { ...process.env, COUNTERSIGN_WHOLE_SENDER: "1", ...(server && { POSTGRES_BIN: server.bin }) };

/** Whether all tests passed. */
function passes(...args) {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...args, ...rest];
  return spawnSync(process.execPath, vitest, { stdio: "inherit", env }).status === 0;
}

try {
  const results = [passes(...SENDER), server === undefined || passes(...OTHERS)];
  process.exitCode = results.every(Boolean) ? 0 : 1;
} finally {
  server?.remove();
}
