import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { removeFolder } from "../../../../tests/support/resources.ts";

/** A folder that is removed when the test has finished. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "countersign-sender-"));
  onTestFinished(() => removeFolder(path));
  return path;
}
