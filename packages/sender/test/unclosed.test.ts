import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const child = join(import.meta.dirname, "support", "child-unclosed-test.mjs");

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
}

/** Runs node:test on a file whose test sender is never closed. A run that hangs is killed, and says so by its signal. */
function runTest(mode: string): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, MODE: mode };
    execFile(process.execPath, ["--test", child], { timeout: 60_000, env }, (error, stdout, stderr) => {
      const { code = 0, signal = null } = (error ?? {}) as { code?: number; signal?: string | null };
      resolve({ code, signal, output: stdout + stderr });
    });
  });
}

describe("a test sender that is never closed", { timeout: 90_000 }, () => {
  it("lets node --test end where a failing expectation skips close()", async () => {
    const { code, signal, output } = await runTest("fails");
    expect({ code, signal }).toEqual({ code: 1, signal: null });
    expect(output).toContain("ExpectationError");
    expect(output).not.toContain("cancelledByParent");
  });

  it("keeps the process running while a test waits for settled(), idle() and an expectation", async () => {
    const { code, output } = await runTest("waits");
    expect(output).toContain("waited to the end");
    expect(code).toBe(0);
  });

  it("lets node --test end while a retry is waiting", async () => {
    const { code, signal } = await runTest("retries");
    expect({ code, signal }).toEqual({ code: 0, signal: null });
  });
});
