import { accessSync, constants, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf, messageOf } from "@countersign/protocol";
import type Database from "libsql";
import { StoreError } from "../store/store-error.ts";
import { createPrivately } from "./private-files.ts";
import { storeErrorOf } from "./sqlite-error.ts";

const REMEDY = "Close it first, or use another file: two senders on one file would send everything twice.";

/** The locks of this process. */
const heldHere = new Set<string>();

/**
 * Keeps other senders away from a database file, by an exclusive transaction held open on a file next to it.
 *
 * The operating system ends the transaction with the process, however it dies, so a lock is never left behind. The
 * database itself stays open to readers, such as the `sqlite3` shell.
 *
 * @returns a function that releases the lock
 * @throws StoreError `ERR_STORE_LOCKED` when another sender holds it, `ERR_STORE_READ_ONLY` when the file cannot be written
 */
export function lockFile(path: string, libsql: typeof Database): () => void {
  const lockPath = `${fileOf(path)}-lock`;
  const lock = open(lockPath, libsql);
  try {
    // Without a journal there is nothing to clean up after a kill.
    lock.exec("PRAGMA journal_mode = OFF");
    assertWritable(lockPath);
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    const error = storeErrorOf(cause, lockPath);
    if (error.code !== "ERR_STORE_LOCKED") throw error;
    throw new StoreError(
      "ERR_STORE_LOCKED",
      heldHere.has(lockPath)
        ? `The store ${path} is open in another sender of this process. ${REMEDY} If a module was evaluated again, as development servers do, keep its sender on globalThis.`
        : `The store ${path} is open in another sender. ${REMEDY}`,
      cause,
    );
  }
  heldHere.add(lockPath);
  return () => {
    heldHere.delete(lockPath);
    lock.exec("ROLLBACK");
    lock.close();
  };
}

/** SQLite opens a file to read that it may not write, and begins an exclusive transaction that keeps nobody away. */
function assertWritable(lockPath: string): void {
  try {
    accessSync(lockPath, constants.W_OK);
  } catch (cause) {
    throw new StoreError(
      "ERR_STORE_READ_ONLY",
      `The store's lock ${lockPath} cannot be written, so it would keep no other sender away. Check its owner and its permissions, and that its file system can be written. (${messageOf(cause)})`,
      cause,
    );
  }
}

function open(path: string, libsql: typeof Database): Database.Database {
  try {
    createPrivately(path);
    return new libsql(path);
  } catch (cause) {
    throw storeErrorOf(cause, path);
  }
}

/** The file that a path leads to, whether it exists or not: one file has one lock, also through links. */
export function fileOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // SQLite makes the file that a link to nothing names. What else is wrong with a path shows when it is opened.
    if (codeOf(error) !== "ENOENT" || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true)
      return path;
    return fileOf(resolve(realpathSync(dirname(path)), readlinkSync(path)));
  }
}
