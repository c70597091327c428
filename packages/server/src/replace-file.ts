import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const { O_WRONLY, O_CREAT, O_EXCL, O_SYNC } = constants;

/**
 * Replaces a file as a whole: a kill or a power cut leaves the old or the new one, and the new one once this returns, where a folder can
 * be synced. The new one can be read by its owner only. It is on disk, as `path` with `.new`, before it takes the place of the old one. A
 * link of that name is not followed.
 *
 * @throws Error of the system if the file cannot be written; it is then as it was, and nothing is left beside it.
 * @example
 * ```ts
 * replaceFile("state.json", JSON.stringify({ line: 12 }));
 * ```
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const next = `${path}.new`;
  // What is there may belong to somebody else, or lead elsewhere.
  rmSync(next, { force: true });
  const descriptor = openSync(next, O_WRONLY | O_CREAT | O_EXCL | O_SYNC, 0o600);
  try {
    try {
      // One write may end early, as on a disk that becomes full. This one writes the rest, or throws.
      writeFileSync(descriptor, content);
      // Under Node's permission model, which forbids it, O_SYNC has to do.
      if (process.permission === undefined) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameOver(next, path);
    syncFolder(dirname(path));
  } catch (error) {
    removeIfPossible(next);
    throw error;
  }
}

/** What failed is to be told, and not that its rest stays. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next replacement removes it.
  }
}

/**
 * Has the disk know the new file by its name. Where a folder cannot be synced, as on Windows and under Node's permission model, the file
 * is replaced all the same.
 */
function syncFolder(path: string): void {
  if (process.permission !== undefined) return;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r");
    fsyncSync(descriptor);
  } catch {
    // A disk that fails is told by what is written next.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Windows cannot replace a file that another program has open, such as a virus scanner: waits until it is closed. */
function renameOver(from: string, to: string, tries = 20): void {
  try {
    renameSync(from, to);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (process.platform !== "win32" || tries === 0 || !/^(?:EPERM|EACCES|EBUSY)$/.test(code)) throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);
    renameOver(from, to, tries - 1);
  }
}
