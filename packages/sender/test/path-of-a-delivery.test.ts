import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// It was once 41 files. Each function more costs every delivery time, and every reader a step. A file has one purpose: what
// accepts, claims and settles in SQLite is in a file each. Cancelling has one, and five functions: they leave the garbage
// collector a quarter of the work. So has the room that is left, since memory has a limit like a file (docs/adr/0026).
const MOST_FILES = 39;
const MOST_FUNCTIONS = 191;

it("a delivery passes through few files and functions, and none of them is about faults or tests", async () => {
  const child = fileURLToPath(new URL("support/child-path-of-a-delivery.mjs", import.meta.url));

  const { stdout } = await promisify(execFile)(process.execPath, [child, "--list"]);

  const lines = stdout.trim().split("\n");
  const { files, functions } = JSON.parse(lines.at(-1) ?? "") as { files: number; functions: number };
  expect(files).toBeGreaterThan(10);
  expect(files).toBeLessThanOrEqual(MOST_FILES);
  expect(functions).toBeLessThanOrEqual(MOST_FUNCTIONS);
  expect(lines.filter((line) => /^(?:faults|expect|target)\//u.test(line))).toEqual([]);
});
