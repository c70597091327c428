import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** The files that SQLite and the lock keep next to a database. */
const SUFFIXES: readonly string[] = ["", "-wal", "-shm", "-lock"];

/** Read or written by anyone but the owner. */
const NOT_PRIVATE = 0o077;

/** Listed or read by anyone but the owner. */
const READABLE_BY_OTHERS = 0o044;

const warned = new Set<string>();

/**
 * Creates a file that only its owner can read, unless it exists: it contains personal data. One that exists is not opened: closing it
 * would end the locks that this process has on it (POSIX).
 */
export function createPrivately(path: string): void {
  // What a link names is looked for, so that it is created so, too.
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch {
    // SQLite finds the same, and says more of it.
  }
}

/** Takes a database and what belongs to it away from everyone but its owner. */
export function makePrivate(path: string): void {
  for (const suffix of SUFFIXES) makeFilePrivate(path + suffix);
}

/**
 * Takes a file away from everyone but its owner. Earlier versions left that to the umask, and Kubernetes gives the files of a volume
 * with `fsGroup` to a group. A file of another owner stays as it is, and so do all where the file system keeps no permissions, with a
 * warning of the process: they can be used nevertheless.
 *
 * @example
 * ```ts
 * makeFilePrivate("/var/lib/shop/traffic.jsonl");
 * ```
 */
export function makeFilePrivate(file: string): void {
  const mode = modeOf(file);
  if ((mode & NOT_PRIVATE) === 0) return;
  try {
    chmodSync(file, mode & 0o700);
  } catch {
    warnOnce(
      file,
      `The file ${file} can be read by other users, and this process may not change that. It contains personal data: make the user of the process its owner, or let its owner remove the permissions.`,
    );
    return;
  }
  // As FAT and NTFS do on Linux, which give all files the permissions of their mount.
  if ((modeOf(file) & NOT_PRIVATE) === 0) return;
  const folder = dirname(file);
  warnOnce(
    folder,
    `The files in ${folder} can be read by other users, since their file system keeps no permissions. They contain personal data: mount it for the user of the process alone, as with the options uid and umask=077, or use another file system.`,
  );
}

/** Warns of a folder whose listing others can read, once its files are private. It is never changed: it may be shared on purpose. */
export function warnOfSharedFolder(path: string): void {
  const folder = dirname(path);
  const mode = modeOf(folder);
  if ((mode & READABLE_BY_OTHERS) === 0) return;
  warnOnce(
    folder,
    `The folder ${folder} of the store can be read by other users. The files of the store cannot, but give it mode 0700 unless it is shared on purpose.`,
  );
}

function warnOnce(path: string, message: string): void {
  if (warned.has(path)) return;
  warned.add(path);
  process.emitWarning(message, { type: "SecurityWarning", code: "COUNTERSIGN_NOT_PRIVATE" });
}

/** The permissions of a file; none if it does not exist or the system has no permissions. */
function modeOf(path: string): number {
  if (process.platform === "win32") return 0;
  return statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
}
