import type Database from "libsql";
import { fileOf, lockFile } from "./file-lock.ts";
import { makeFolderOf } from "./make-folder.ts";
import { createPrivately, makePrivate, warnOfSharedFolder } from "./private-files.ts";
import { assertOurs, migrate } from "./schema.ts";

/** A database that no other sender has open. */
export interface OpenedDatabase {
  readonly db: Database.Database;
  readonly unlock: () => void;
  readonly generation: number;
}

/**
 * What the write-ahead log keeps of its size. It has a few MB, but grows in a migration, and while another program reads the
 * file; SQLite would leave it so until the file is closed.
 */
const LOG_BYTES = 16_000_000;

/** The path that means no file. */
export const MEMORY_PATH = ":memory:";
/**
 * A file in memory. In a database without one (`:memory:`), a commit after an index has been divided looks at all pages, so that
 * each call would take longer the more is kept.
 */
const MEMORY_FILE = "file:countersign?vfs=memdb";
/**
 * How long another program is waited for that has the file locked, in milliseconds: at the start, such as one that closes it and
 * writes its log into it; and while the process has other work, which waits meanwhile.
 */
const [OPEN_BUSY_MS, WRITE_BUSY_MS] = [5_000, 250];

/**
 * Opens the database of a store, makes it if it is not there, and brings it to the present schema.
 *
 * @throws StoreError, or what SQLite throws
 */
export function openDatabase(path: string, libsql: typeof Database): OpenedDatabase {
  if (path !== MEMORY_PATH) makeFolderOf(path);
  const unlock = path === MEMORY_PATH ? () => {} : lockFile(path, libsql);
  let db: Database.Database | undefined;
  try {
    if (path !== MEMORY_PATH) createPrivately(path);
    db = new libsql(path === MEMORY_PATH ? MEMORY_FILE : path);
    db.exec(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`);
    // First: the journal mode is written into the file, and another program may need the one it has.
    assertOurs(db, path);
    // Before the log is made, which has the permissions of the database.
    if (path !== MEMORY_PATH) {
      makePrivate(fileOf(path));
      warnOfSharedFolder(path);
    }
    // FULL: a commit is on the disk when it returns, so that neither a kill nor a power cut undoes it. An open store flushes by itself.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
    db.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}`);
    // libsql checks them otherwise, and reads all deliveries for each message that is removed.
    db.exec("PRAGMA foreign_keys = OFF");
    const { generation } = migrate(db);
    db.exec(`PRAGMA busy_timeout = ${WRITE_BUSY_MS}`);
    return { db, unlock, generation };
  } catch (error) {
    db?.close();
    unlock();
    throw error;
  }
}
