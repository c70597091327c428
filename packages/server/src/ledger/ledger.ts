import { setImmediate as nextTurn } from "node:timers/promises";
import { isError, parseJson } from "@countersign/protocol";
import { inTransaction, releaseNativeHandles } from "@countersign/sender";
import type { Rejection } from "../ingest/rejections.ts";
import type { ForgeryJson } from "../shapes/forgery-json.ts";
import { iso } from "../shapes/times.ts";
import { type LedgerFile, openLedgerFile, type Statements } from "./ledger-file.ts";
import { printed } from "./printed.ts";
import type { SeenKey } from "./seen-table.ts";

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

const MAX_REJECTIONS = 1_000;
/** So many more are removed together, since to find out which takes as long as to keep dozens. */
const REMOVED_AT_ONCE = 100;

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
   * @param path A file, made when it is not there, or `:memory:`.
   * @param maxBytes The most that rejected messages may take.
   * @throws ServerError if the file is not a ledger, or was written by a newer version, or libsql cannot be loaded.
   */
  static async open(path: string, maxBytes: number = Number.MAX_SAFE_INTEGER): Promise<Ledger> {
    return new Ledger(await openLedgerFile(path), maxBytes);
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
    return rows.map(({ forgery }) => parseJson(forgery) as ForgeryJson);
  }

  /** The rejected messages that are kept, the newest first. */
  rejections(limit: number): readonly KeptRejection[] {
    return this.#opened.statements.rejections.all(Math.min(limit, MAX_REJECTIONS)).map((row) => {
      const { id, at, source, rejection, message } = row as RejectionRow;
      return {
        id,
        receivedAt: iso(at),
        ...(source !== null && { source }),
        ...(parseJson(rejection) as Omit<Rejection, "message">),
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
        // As a StoreError does: a stack that is not written out refers to statements, which keep the file open.
        if (isError(error)) void error.stack;
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

interface RejectionRow {
  readonly id: number;
  readonly at: number;
  readonly source: string | null;
  readonly rejection: string;
  readonly message: string;
}
