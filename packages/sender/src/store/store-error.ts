import { codeOf, isError } from "@countersign/protocol";

/**
 * | code | meaning | what to do |
 * |---|---|---|
 * | `ERR_STORE_OPEN` | the file cannot be opened or created, or libsql cannot be loaded | check the path and its permissions; install the optional dependencies, too |
 * | `ERR_STORE_LOCKED` | another sender has the file open | close that one, or use another file |
 * | `ERR_STORE_READ_ONLY` | the file or its folder cannot be written | check permissions and mount |
 * | `ERR_STORE_FULL` | the disk, or the limit set with `maxBytes`, is full | make room; pending deliveries continue by themselves |
 * | `ERR_STORE_CORRUPT` | the file is damaged, or not a SQLite database | start the process again; if it says so again, move the file away with its `-wal` and `-shm`, and restore a backup, or start with a new one |
 * | `ERR_STORE_FOREIGN` | the file belongs to another program | use another path |
 * | `ERR_STORE_NEWER` | a newer version of this package wrote the file | upgrade this package |
 * | `ERR_STORE_UNKNOWN` | the connection broke, or the disk failed: whether it was stored is not known | repeat it with the same ids, which is harmless |
 * | `ERR_STORE_CHANGED` | the data has changed since it was read | read it again, and decide again |
 * | `ERR_STORE_FAILED` | anything else, such as a disk that fails or limits the size of files; `cause` says more | see the message |
 * | `ERR_STORE_CLOSED` | it was used before it was opened, or after it was closed | |
 */
export type StoreErrorCode =
  | "ERR_STORE_OPEN"
  | "ERR_STORE_LOCKED"
  | "ERR_STORE_READ_ONLY"
  | "ERR_STORE_FULL"
  | "ERR_STORE_CORRUPT"
  | "ERR_STORE_FOREIGN"
  | "ERR_STORE_NEWER"
  | "ERR_STORE_UNKNOWN"
  | "ERR_STORE_CHANGED"
  | "ERR_STORE_FAILED"
  | "ERR_STORE_CLOSED";

/** An operation of the store failed. Calls that were accepted before are not affected. */
export class StoreError extends Error {
  /** Those of another copy of this package, too: an app has two where its store needs another version than the app. */
  static override [Symbol.hasInstance](thrown: unknown): boolean {
    if (super[Symbol.hasInstance](thrown)) return true;
    if (this !== StoreError || !isError(thrown) || thrown.name !== "StoreError") return false;
    return codeOf(thrown)?.startsWith("ERR_STORE_") === true;
  }

  override readonly name = "StoreError";
  /** Stable, for programs. */
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    // Until they are written out, stacks refer to the objects of their calls, and those to statements: a closed store would keep its
    // file open for as long as somebody keeps an error of it.
    void [this.stack, isError(cause) && cause.stack];
  }
}

/** Whether an error says that something may have been stored or not. */
export function isUnknown(error: unknown): boolean {
  return error instanceof StoreError && error.code === "ERR_STORE_UNKNOWN";
}
