import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is removed when the test has finished. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "countersign-sender-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
