import { readFileSync } from "node:fs";

/**
 * Whether this process may read from its terminal. One in the background of a shell is stopped by the system when it
 * tries. Only Linux tells; elsewhere the answer is yes.
 */
export function isInForeground(): boolean {
  try {
    // After the name, which may contain anything: state, parent, group, session, terminal, group in the foreground.
    const fields = readFileSync("/proc/self/stat", "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
    return fields[2] === fields[5];
  } catch {
    return true;
  }
}
