import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// Each function more costs every delivery time, and every reader a step. Lower the bounds when the path gets shorter.
const MOST_FILES = 38;
const MOST_FUNCTIONS = 171;

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
