import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

interface Size {
  readonly files: number;
  readonly functions: number;
}

// Each function more costs every delivery time, and every reader a step. Lower the bounds when the path gets shorter.
const MOST: Readonly<Record<"first" | "later", Size>> = {
  /** The first delivery of a sender makes the connection, too. */
  first: { files: 38, functions: 182 },
  later: { files: 36, functions: 160 },
};

it("a delivery passes through few files and functions, and none of them is about faults or tests", async () => {
  const child = fileURLToPath(new URL("support/child-path-of-a-delivery.mjs", import.meta.url));

  const { stdout } = await promisify(execFile)(process.execPath, [child, "--list"]);

  const lines = stdout.trim().split("\n");
  const sizes = JSON.parse(lines.at(-1) ?? "") as Readonly<Record<"first" | "later", Size>>;
  for (const which of ["first", "later"] as const) {
    expect(sizes[which].files).toBeGreaterThan(10);
    expect(sizes[which].files, `files of the ${which} delivery`).toBeLessThanOrEqual(MOST[which].files);
    expect(sizes[which].functions, `functions of the ${which} delivery`).toBeLessThanOrEqual(
      MOST[which].functions,
    );
  }
  expect(sizes.later.functions).toBeLessThan(sizes.first.functions);
  expect(lines.filter((line) => /^\w+: (?:faults|expect|target)\//u.test(line))).toEqual([]);
});
