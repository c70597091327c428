import { codeOf, fileMessageOf } from "@countersign/protocol";
import { StoreError, type StoreErrorCode } from "../store/store-error.ts";

/** The code of our own error about a file that is no longer where it was opened. */
export const REMOVED_CODE = "REMOVED";

/** The permissions of a file can be right where its file system is mounted to be read only, or has no room for the log beside the file. */
const CANNOT_BE_OPENED =
  "cannot be opened. Check the path and its permissions, and that its file system can be written and has room.";

/** What a disk that fails comes to, a quota, a limit on the size of files, and a disk without room for the files beside the store. */
const CANNOT_BE_USED =
  "could not be read or written. Check its disk: it may be full or failing, or there is a quota, or a limit on the size of a file.";

/** What the system says of a call, as of a disk that is gone: `EIO`, `ESTALE`, `ENOTCONN`; of a quota, Node knows the number alone. */
const SYSTEM_CODE = /^(?:E[A-Z\d]+$|Unknown system error)/u;

const MEANINGS: readonly (readonly [prefix: string, code: StoreErrorCode, problem: string])[] = [
  ["SQLITE_FULL", "ERR_STORE_FULL", "is full. Free disk space, or raise maxBytes."],
  [
    "SQLITE_READONLY",
    "ERR_STORE_READ_ONLY",
    "cannot be written. Check its permissions and those of its folder.",
  ],
  [
    "SQLITE_CORRUPT",
    "ERR_STORE_CORRUPT",
    // libsql has no error for a read that failed: what it got then looks damaged.
    // SQLite would write a log that is left behind into the file that takes the place of this one.
    "is damaged, or its disk could not read it. Start the process again. If it says so again, move the file away, together with the files -wal and -shm beside it. Then restore a backup, or start with a new one.",
  ],
  ["SQLITE_NOTADB", "ERR_STORE_CORRUPT", "is not a SQLite database. Use another path."],
  ["SQLITE_CANTOPEN", "ERR_STORE_OPEN", CANNOT_BE_OPENED],
  [
    "SQLITE_IOERR_LOCK",
    "ERR_STORE_FAILED",
    "cannot be locked. Keep the store on a disk of this machine: the file system of a network may have no locks.",
  ],
  [
    "SQLITE_IOERR_SHMMAP",
    "ERR_STORE_FAILED",
    "cannot be used: nothing of it can be mapped into shared memory. Some file systems of FUSE have none: keep the store on a disk of this machine.",
  ],
  ["SQLITE_IOERR", "ERR_STORE_FAILED", CANNOT_BE_USED],
  [
    REMOVED_CODE,
    "ERR_STORE_OPEN",
    "was removed, moved or replaced while it is open. Put it back, or start again with a new one: what is stored now would be lost.",
  ],
  ["SQLITE_BUSY", "ERR_STORE_LOCKED", "is locked by another program."],
];

/** What SQLite reported, as the error of our store. */
export function storeErrorOf(cause: unknown, path: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const code = codeOf(cause) ?? "";
  const message = fileMessageOf(cause);
  const meaning = MEANINGS.find(([prefix]) => code.startsWith(prefix));
  if (meaning !== undefined)
    return new StoreError(meaning[1], `The store ${path} ${meaning[2]} (${message})`, cause);
  if (SYSTEM_CODE.test(code))
    return new StoreError("ERR_STORE_FAILED", `The store ${path} ${CANNOT_BE_USED} (${message})`, cause);
  if (message.startsWith("ConnectionFailed")) {
    return new StoreError("ERR_STORE_OPEN", `The store ${path} ${CANNOT_BE_OPENED} (${message})`, cause);
  }
  return new StoreError("ERR_STORE_FAILED", `The store ${path} failed: ${message}`, cause);
}

/** Makes the error of a store whose database cannot be loaded. */
export function notLoaded(path: string): (reason: string, cause: unknown) => StoreError {
  return (reason, cause) =>
    new StoreError("ERR_STORE_OPEN", `The store ${path} cannot be opened: ${reason}`, cause);
}

/** The error of a store that is used before it is opened, or after it was closed. */
export function closedError(path: string): StoreError {
  return new StoreError(
    "ERR_STORE_CLOSED",
    `The store ${path} is not open: createSender() opens it, and close() closes it.`,
  );
}

/** A commit that the disk may have or not, as the error of our store. */
export function unknownErrorOf(cause: unknown, path: string): StoreError {
  return new StoreError(
    "ERR_STORE_UNKNOWN",
    `The store ${path} could not be flushed to disk, so whether it is stored is not known. Check its disk: it may be full or failing. (${fileMessageOf(cause)})`,
    cause,
  );
}

/** Whether a write failed because a delivery or a skipped call with its id is stored. */
export function isRepeatedId(error: unknown): boolean {
  const cause: unknown = error instanceof StoreError ? error.cause : error;
  return isConstraint(cause) && /\b(?:delivery|skipped_call)\.id\b/u.test(cause.message);
}

/** Whether a write does not fit what is stored: it says nothing about the database. */
export function isConstraint(cause: unknown): cause is Error {
  return codeOf(cause)?.startsWith("SQLITE_CONSTRAINT") === true;
}
