// Takes the pictures of the README anew: runs their test, with the variable that says so.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "packages/dashboard/test/browser/pictures.test.ts"],
  { cwd: root, stdio: "inherit", env: { ...process.env, COUNTERSIGN_PICTURES: "1" } },
);
process.exitCode = status ?? 1;
