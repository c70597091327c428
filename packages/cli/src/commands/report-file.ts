import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { fileMessageOf } from "@countersign/protocol";
import { UsageError } from "../errors/usage-error.ts";
import { tidyAtExit } from "../terminal/signals.ts";

/** The file of a report that is not there yet. */
export interface ReportFile {
  /** Writes the report. @throws UsageError when it cannot be written. */
  write(text: string): Promise<void>;
  /** There is no report: leaves no empty file behind. */
  discard(): Promise<void>;
}

/**
 * Opens the file of a report and empties it. It stays open, since it may be a pipe. A process that ends before the report is
 * written leaves no empty file, which CI would take for a report.
 *
 * @throws UsageError when it cannot be written.
 */
export async function openReportFile(name: string, cwd: string): Promise<ReportFile> {
  const cannotWrite = (error: unknown): never => {
    throw new UsageError(
      `Cannot write the report to ${name}: ${fileMessageOf(error)}. Give --junit a file that can be written.`,
    );
  };
  const path = resolve(cwd, name);
  const file = await open(path, "w").catch(cannotWrite);
  const isFile = (await file.stat()).isFile();
  const remove = (): void => {
    try {
      if (isFile) rmSync(path, { force: true });
    } catch {
      // It may be written and not removed, as where its folder is read-only.
    }
  };
  const keep = tidyAtExit(remove);
  return {
    async write(text) {
      try {
        await file.writeFile(text);
        await file.close();
        keep();
      } catch (error) {
        cannotWrite(error);
      }
    },
    async discard() {
      await file.close();
      keep();
      remove();
    },
  };
}
