import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = fileURLToPath(new URL("../support/child-validation.mjs", import.meta.url));

it("starts without loading what validates requests, which took a quarter of the CPU time of a start", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  const { atStart, later, answers } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  expect(atStart).toBe(0);
  expect(later).toBeGreaterThan(0);
  // Status and count of errors: those of each request are its own.
  expect(answers).toEqual([
    [400, 1],
    [200, 0],
    [400, 1],
  ]);
});
