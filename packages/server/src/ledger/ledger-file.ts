import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import type Database from "libsql";
import { codeOf, fileMessageOf } from "@countersign/protocol";
import {
  inTransaction,
  loadLibsql,
  LogFile,
  makeFilePrivate,
  releaseNativeHandles,
} from "@countersign/sender";
import { ServerError, writtenByNewer } from "../errors/server-error.ts";
import type { Held, LedgerRows, RejectionRow } from "./ledger-rows.ts";
import { type Counted, mostOfEachSource } from "./most-of-each-source.ts";
import { SeenTable } from "./seen-table.ts";

/** Files of version 1 have a table of messages seen as well. It is removed when the last of them is too old. */
const SCHEMA_VERSION = 2;

const SCHEMA = `
  CREATE TABLE rejections (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT, rejection TEXT NOT NULL, message TEXT NOT NULL);
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** What SQLite says where the disk or the permissions are at fault, and not what is in the file. */
const CANNOT_BE_USED = /^SQLITE_(?:CANTOPEN|FULL|IOERR|READONLY)/u;
const MAKE_ROOM = "Make room, or correct its permissions";

/** Added to every file: a version that does not know it leaves it alone. */
const FORGERIES = "CREATE TABLE IF NOT EXISTS forgeries (forgery TEXT NOT NULL)";

/**
 * Opens the file of a ledger.
 *
 * @param path A file, made when it is not there.
 * @throws ServerError if the file is not a ledger, or was written by a newer version, or libsql cannot be loaded.
 */
export async function openLedgerFile(path: string): Promise<LedgerRows> {
  const libsql = await loadLibsql<typeof Database>(
    (reason, cause) =>
      new ServerError("ERR_DATA_UNREADABLE", `Rejected messages cannot be kept: ${reason}`, cause),
  );
  makePrivate(path);
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
    return new LedgerFile({ db, seen, statements, log: await LogFile.open(db, path) });
  } catch (error) {
    db.close();
    // It can be moved away only where nothing has it open, on some systems.
    await releaseNativeHandles();
    if (error instanceof ServerError) throw error;
    throw unusable(path, error, CANNOT_BE_USED.test(codeOf(error) ?? "") ? MAKE_ROOM : "Move it away");
  }
}

/** A file that is open. */
class LedgerFile implements LedgerRows {
  /** Absent once it is closed: what refers to a statement keeps the file open. */
  #open: Open | undefined;

  constructor(open: Open) {
    this.#open = open;
  }

  get seen(): SeenTable | undefined {
    return this.#opened.seen;
  }

  inTransaction(work: () => void): void {
    inTransaction(this.#opened.db, work);
  }

  keep({ at, source, rejection, message }: Omit<RejectionRow, "id">): void {
    this.#opened.statements.keep.run(at, source, rejection, message);
  }

  trim(maxRows: number, maxBytes: number): void {
    const { counted, removeOthers } = this.#opened.statements;
    const rows = counted.all() as readonly (Counted & Pick<RejectionRow, "id">)[];
    const staying = mostOfEachSource(rows, maxRows, maxBytes).map(({ id }) => id);
    removeOthers.run(JSON.stringify(staying));
  }

  held(): Held {
    return this.#opened.statements.held.get() as Held;
  }

  rejections(limit: number): readonly RejectionRow[] {
    return this.#opened.statements.rejections.all(limit) as readonly RejectionRow[];
  }

  keepForgeries(forgeries: readonly string[]): void {
    const { clearForgeries, keepForgery } = this.#opened.statements;
    clearForgeries.run();
    for (const forgery of forgeries) keepForgery.run(forgery);
  }

  forgeries(): readonly string[] {
    const rows = this.#opened.statements.forgeries.all() as readonly { readonly forgery: string }[];
    return rows.map(({ forgery }) => forgery);
  }

  flush(): Promise<void> {
    return this.#opened.log.flush();
  }

  async close(): Promise<void> {
    const { db, log } = this.#opened;
    this.#open = undefined;
    await log.close();
    db.close();
    await releaseNativeHandles();
  }

  get #opened(): Open {
    if (this.#open === undefined) throw new Error("The file is closed.");
    return this.#open;
  }
}

/** What an open file consists of. */
interface Open {
  readonly db: Database.Database;
  readonly seen: SeenTable | undefined;
  readonly statements: Statements;
  readonly log: LogFile;
}

type Statements = Readonly<
  Record<
    | "keep"
    | "counted"
    | "removeOthers"
    | "held"
    | "rejections"
    | "clearForgeries"
    | "keepForgery"
    | "forgeries",
    Database.Statement
  >
>;

function prepare(db: Database.Database): Statements {
  return {
    keep: db.prepare("INSERT INTO rejections (at, source, rejection, message) VALUES (?, ?, ?, ?)"),
    counted: db.prepare(
      "SELECT id, source, octet_length(message) + octet_length(rejection) AS bytes FROM rejections ORDER BY id DESC",
    ),
    removeOthers: db.prepare("DELETE FROM rejections WHERE id NOT IN (SELECT value FROM json_each(?))"),
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
    // One that exists is not opened: closing it would end the locks that another ledger of this process has on it (POSIX).
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    else closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    throw unusable(path, error, MAKE_ROOM);
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
