import { closeSync, openSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "libsql";
import { messageOf } from "@countersign/protocol";
import { inTransaction, LogFile, makeFilePrivate, releaseNativeHandles } from "@countersign/sender";
import type { Rejection } from "../ingest/rejections.ts";
import { ServerError, writtenByNewer } from "../errors/server-error.ts";
import { printed } from "./printed.ts";
import { type SeenKey, SeenTable } from "./seen-table.ts";
import type { ForgeryJson } from "../shapes/forgery-json.ts";
import { iso } from "../shapes/times.ts";

/** A rejected message as it is kept. */
export interface KeptRejection extends Omit<Rejection, "message"> {
  /** Counts up; the newest has the highest. */
  readonly id: number;
  /** When it came in, ISO 8601. */
  readonly receivedAt: string;
  /** The source it was for, when its write key was known. */
  readonly source?: string;
  /** The message as JSON, without its write key, cut after 32,768 characters. */
  readonly message: string;
}

/** Files of version 1 have a table of messages seen as well. It is removed when the last of them is too old. */
const SCHEMA_VERSION = 2;
const MAX_REJECTIONS = 1_000;
/** So many more are removed together, since to find out which takes as long as to keep dozens. */
const REMOVED_AT_ONCE = 100;

const SCHEMA = `
  CREATE TABLE rejections (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT, rejection TEXT NOT NULL, message TEXT NOT NULL);
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Added to every file: a version that does not know it leaves it alone. */
const FORGERIES = "CREATE TABLE IF NOT EXISTS forgeries (forgery TEXT NOT NULL)";

/** How many rejections there are, and how many bytes of texts. */
interface Held {
  readonly rows: number;
  readonly bytes: number;
}

/** As if there were too many: what is kept next counts them. */
const NOT_COUNTED: Held = { rows: Number.POSITIVE_INFINITY, bytes: 0 };

/**
 * What the server remembers in addition to the deliveries: the last thousand messages it has rejected, and the endpoints that
 * accept forgeries. In the file of an earlier version, also which messages that one accepted.
 *
 * Writes of one turn of the event loop, and those that come while the disk is busy, share one transaction, and so one flush to the
 * disk. The process goes on meanwhile: anyone can send what is rejected.
 */
export class Ledger {
  /** Absent once it is closed: what refers to a statement keeps the file open. */
  #file: LedgerFile | undefined;
  readonly #maxBytes: number;
  #pending: Pending[] = [];
  /** Set while something waits, or the disk is waited for. */
  #writing: Promise<void> | undefined;
  #held = NOT_COUNTED;

  private constructor(file: LedgerFile, maxBytes: number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  /**
   * @param libsql From {@link loadLibsql}.
   * @param path A file, made when it is not there, or `:memory:`.
   * @param maxBytes The most that rejected messages may take.
   * @throws ServerError if the file is not a ledger, or was written by a newer version.
   */
  static async open(
    libsql: typeof Database,
    path: string,
    maxBytes: number = Number.MAX_SAFE_INTEGER,
  ): Promise<Ledger> {
    const { db, log } = await open(libsql, path);
    const seen = versionOf(db) === 1 ? new SeenTable(db, SCHEMA_VERSION) : undefined;
    return new Ledger({ db, seen, statements: prepare(db), log }, maxBytes);
  }

  /** Whether an earlier version accepted a message within the 24 hours before `now`. */
  hasSeen(key: SeenKey, now: number): boolean {
    return this.#opened.seen?.has(key, now) ?? false;
  }

  /**
   * Keeps rejected messages. Beyond a thousand, and beyond the room for them, the oldest go of the source that has the most: with a few
   * bytes of gzip, who has the write key of one, or none, would else remove those of all others.
   */
  keepRejections(rejections: readonly Rejection[], source: string | undefined, now: number): Promise<void> {
    return this.#add({ rejections: rejections.slice(-MAX_REJECTIONS), source, now });
  }

  /** Keeps which endpoints accept forgeries, in place of those that were kept before. */
  keepForgeries(forgeries: readonly ForgeryJson[]): Promise<void> {
    return this.#add({ rejections: [], source: undefined, now: 0, forgeries });
  }

  /** The endpoints that accept forgeries, as they were kept last. */
  forgeries(): readonly ForgeryJson[] {
    const rows = this.#opened.statements.forgeries.all() as readonly { readonly forgery: string }[];
    return rows.map(({ forgery }) => JSON.parse(forgery) as ForgeryJson);
  }

  /** The rejected messages that are kept, the newest first. */
  rejections(limit: number): readonly KeptRejection[] {
    return this.#opened.statements.rejections.all(Math.min(limit, MAX_REJECTIONS)).map((row) => {
      const { id, at, source, rejection, message } = row as RejectionRow;
      return {
        id,
        receivedAt: iso(at),
        ...(source !== null && { source }),
        ...(JSON.parse(rejection) as Omit<Rejection, "message">),
        message,
      };
    });
  }

  /** Writes the remaining data and closes the file. */
  async close(): Promise<void> {
    await this.#writing;
    if (this.#file === undefined) return;
    const { db, log } = this.#file;
    this.#file = undefined;
    await log?.close();
    db.close();
    if (log !== undefined) await releaseNativeHandles();
  }

  get #opened(): LedgerFile {
    if (this.#file === undefined) throw new Error("The server is closed.");
    return this.#file;
  }

  #add(pending: Omit<Pending, "resolve" | "reject">): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ ...pending, resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  /** Writes what waits, and then what has come meanwhile. */
  async #write(): Promise<void> {
    await nextTurn();
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      try {
        this.#commit(batch);
        await this.#opened.log?.flush();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        // Nothing of it need have been written.
        this.#held = NOT_COUNTED;
        for (const { reject } of batch) reject(error);
      }
    }
    this.#writing = undefined;
  }

  #commit(batch: readonly Pending[]): void {
    // Only the last ones are written: a few bytes of gzip are 2,500 of them, and many requests can end in one turn.
    const newest = batch
      .flatMap(({ rejections, source = null, now }) => rejections.map((one) => ({ one, source, now })))
      .slice(-MAX_REJECTIONS);
    const forgeries = batch.findLast((one) => one.forgeries !== undefined)?.forgeries;
    const { db, statements } = this.#opened;
    const { clearForgeries, keepForgery } = statements;
    inTransaction(db, () => {
      for (const one of newest) this.#keep(one, statements);
      if (newest.length > 0) this.#trim(statements);
      if (forgeries) clearForgeries.run();
      for (const forgery of forgeries ?? []) keepForgery.run(JSON.stringify(forgery));
    });
  }

  #keep({ one, source, now }: Kept, { keep }: Statements): void {
    const { message, ...rejection } = one;
    const texts = [JSON.stringify(rejection), printed(message)] as const;
    keep.run(now, source, ...texts);
    const { rows, bytes } = this.#held;
    this.#held = { rows: rows + 1, bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), bytes) };
  }

  #trim({ trim, held }: Statements): void {
    const { rows, bytes } = this.#held;
    if (rows <= MAX_REJECTIONS + REMOVED_AT_ONCE && bytes <= this.#maxBytes) return;
    trim.run(MAX_REJECTIONS, this.#maxBytes);
    this.#held = held.get() as Held;
  }
}

/** A rejection to keep. */
interface Kept {
  readonly one: Rejection;
  readonly source: string | null;
  readonly now: number;
}

/** What waits for the end of this turn. */
interface Pending {
  readonly rejections: readonly Rejection[];
  readonly source: string | undefined;
  readonly now: number;
  /** The whole list, where it has changed. */
  readonly forgeries?: readonly ForgeryJson[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A file that is open. */
interface LedgerFile {
  readonly db: Database.Database;
  readonly seen: SeenTable | undefined;
  readonly statements: Statements;
  /** Undefined: it is in memory, which no disk can have. */
  readonly log: LogFile | undefined;
}

type Statements = Readonly<
  Record<
    "keep" | "trim" | "held" | "rejections" | "clearForgeries" | "keepForgery" | "forgeries",
    Database.Statement
  >
>;

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

interface RejectionRow {
  readonly id: number;
  readonly at: number;
  readonly source: string | null;
  readonly rejection: string;
  readonly message: string;
}

/**
 * Loads libsql, which is compiled for each platform: only when a server starts, so that other commands work without it.
 *
 * @throws ServerError when there is no build for this machine, or Node may not load it
 */
export async function loadLibsql(): Promise<typeof Database> {
  try {
    const { default: libsql } = await import("libsql");
    return libsql;
  } catch (error) {
    throw new ServerError(
      "ERR_DATA_UNREADABLE",
      `Rejected messages cannot be kept: the database, libsql, cannot be loaded. Install the packages on this machine, with the optional ones; under Node's permission model, allow addons. (${messageOf(error).split("\n", 1)[0]})`,
      error,
    );
  }
}

async function open(libsql: typeof Database, path: string): Promise<Pick<LedgerFile, "db" | "log">> {
  if (path !== ":memory:") makePrivate(path);
  const db = new libsql(path);
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 1000;");
    const version = versionOf(db);
    if (version > SCHEMA_VERSION) throw writtenByNewer(path);
    if (version === 0) inTransaction(db, () => db.exec(SCHEMA));
    db.exec(FORGERIES);
    return { db, log: path === ":memory:" ? undefined : await LogFile.open(db, path) };
  } catch (error) {
    db.close();
    if (error instanceof ServerError) throw error;
    throw unusable(path, error, "Move it away");
  }
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
    `${path} cannot be used: ${messageOf(error)}. ${fix}, or use another data directory.`,
    error,
  );
}
