import { closeSync, openSync } from "node:fs";
import type Database from "libsql";
import { fileMessageOf } from "@countersign/protocol";
import {
  inTransaction,
  loadLibsql,
  LogFile,
  makeFilePrivate,
  releaseNativeHandles,
} from "@countersign/sender";
import { ServerError, writtenByNewer } from "../errors/server-error.ts";
import { SeenTable } from "./seen-table.ts";

/** Files of version 1 have a table of messages seen as well. It is removed when the last of them is too old. */
const SCHEMA_VERSION = 2;

const SCHEMA = `
  CREATE TABLE rejections (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT, rejection TEXT NOT NULL, message TEXT NOT NULL);
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Added to every file: a version that does not know it leaves it alone. */
const FORGERIES = "CREATE TABLE IF NOT EXISTS forgeries (forgery TEXT NOT NULL)";

/** A file that is open. */
export interface LedgerFile {
  readonly db: Database.Database;
  readonly seen: SeenTable | undefined;
  readonly statements: Statements;
  /** Undefined if it is in memory: then nothing waits for a disk. */
  readonly log: LogFile | undefined;
}

/** What is asked of a file, and written into it. */
export type Statements = Readonly<
  Record<
    "keep" | "trim" | "held" | "rejections" | "clearForgeries" | "keepForgery" | "forgeries",
    Database.Statement
  >
>;

/**
 * Opens the file of a ledger.
 *
 * @param path A file, made when it is not there, or `:memory:`.
 * @throws ServerError if the file is not a ledger, or was written by a newer version, or libsql cannot be loaded.
 */
export async function openLedgerFile(path: string): Promise<LedgerFile> {
  const libsql = await loadLibsql(
    (reason, cause) =>
      new ServerError("ERR_DATA_UNREADABLE", `Rejected messages cannot be kept: ${reason}`, cause),
  );
  if (path !== ":memory:") makePrivate(path);
  const db = new libsql(path);
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 1000;");
    const version = versionOf(db);
    if (version > SCHEMA_VERSION) throw writtenByNewer(path);
    if (version === 0) inTransaction(db, () => db.exec(SCHEMA));
    db.exec(FORGERIES);
    const seen = version === 1 ? new SeenTable(db, SCHEMA_VERSION) : undefined;
    const statements = prepare(db);
    // Last: nothing after it can fail and leave it open.
    const log = path === ":memory:" ? undefined : await LogFile.open(db, path);
    return { db, seen, statements, log };
  } catch (error) {
    db.close();
    // It can be moved away only where nothing has it open, on some systems.
    if (path !== ":memory:") await releaseNativeHandles();
    if (error instanceof ServerError) throw error;
    throw unusable(path, error, "Move it away");
  }
}

function prepare(db: Database.Database): Statements {
  return {
    keep: db.prepare("INSERT INTO rejections (at, source, rejection, message) VALUES (?, ?, ?, ?)"),
    // The newest of each source first, then the second of each: who sends the most loses the oldest.
    trim: db.prepare(
      `DELETE FROM rejections WHERE id IN (SELECT id FROM (
         SELECT id, row_number() OVER places AS place, sum(size) OVER places AS bytes FROM (
           SELECT id, octet_length(message) + octet_length(rejection) AS size,
             row_number() OVER (PARTITION BY source ORDER BY id DESC) AS nth FROM rejections
         ) WINDOW places AS (ORDER BY nth, id DESC)
       ) WHERE place > ? OR bytes > ?)`,
    ),
    held: db.prepare(
      "SELECT count(*) AS rows, coalesce(sum(octet_length(message) + octet_length(rejection)), 0) AS bytes FROM rejections",
    ),
    rejections: db.prepare("SELECT * FROM rejections ORDER BY id DESC LIMIT ?"),
    clearForgeries: db.prepare("DELETE FROM forgeries"),
    keepForgery: db.prepare("INSERT INTO forgeries VALUES (?)"),
    forgeries: db.prepare("SELECT forgery FROM forgeries ORDER BY rowid"),
  };
}

function versionOf(db: Database.Database): number {
  return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** Readable by its owner only, since it contains rejected messages. SQLite gives its other files the mode of this one. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    throw unusable(path, error, "Correct its permissions");
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) makeFilePrivate(file);
}

function unusable(path: string, error: unknown, fix: string): ServerError {
  return new ServerError(
    "ERR_DATA_UNREADABLE",
    `${path} cannot be used: ${fileMessageOf(error)}. ${fix}, or use another data directory.`,
    error,
  );
}
