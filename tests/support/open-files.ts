import { existsSync, readdirSync, readlinkSync } from "node:fs";

/** The files that this process has open; they are listed on Linux. */
const DESCRIPTORS = "/proc/self/fd";

/** Whether this system lists the files that a process has open. */
export const listsOpenFiles: boolean = existsSync(DESCRIPTORS);

/** The files that this process has open in a folder, or below it. */
export function openFilesIn(folder: string): readonly string[] {
  return readdirSync(DESCRIPTORS)
    .map((descriptor) => {
      try {
        return readlinkSync(`${DESCRIPTORS}/${descriptor}`);
      } catch {
        // That of the list itself.
        return "";
      }
    })
    .filter((file) => file.startsWith(folder));
}
