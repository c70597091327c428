import { open, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf, UsageError } from "../errors/usage-error.ts";

/** The file of a report that is not there yet. */
export interface ReportFile {
  /** Writes the report. @throws UsageError when it cannot be written. */
  write(text: string): Promise<void>;
  /** There is no report: leaves no empty file behind. */
  discard(): Promise<void>;
}

/**
 * Opens the file of a report and empties it. It stays open, since it may be a pipe.
 *
 * @throws UsageError when it cannot be written.
 */
export async function openReportFile(name: string, cwd: string): Promise<ReportFile> {
  const cannotWrite = (error: unknown): never => {
    throw new UsageError(
      `Cannot write the report to ${name}: ${messageOf(error)}. Give --junit a file that can be written.`,
    );
  };
  const path = resolve(cwd, name);
  const file = await open(path, "w").catch(cannotWrite);
  return {
    async write(text) {
      try {
        await file.writeFile(text);
        await file.close();
      } catch (error) {
        cannotWrite(error);
      }
    },
    async discard() {
      const isFile = (await file.stat()).isFile();
      await file.close();
      if (isFile) await rm(path, { force: true });
    },
  };
}
