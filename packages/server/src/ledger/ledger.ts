import { setImmediate as nextTurn } from "node:timers/promises";
import { isError, parseJson } from "@countersign/protocol";
import type { Rejection } from "../ingest/rejections.ts";
import type { ForgeryJson } from "../shapes/forgery-json.ts";
import { iso } from "../shapes/times.ts";
import { openLedgerFile } from "./ledger-file.ts";
import { ledgerInMemory } from "./ledger-memory.ts";
import type { Held, LedgerRows } from "./ledger-rows.ts";
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
  /** Absent once it is closed. */
  #rows: LedgerRows | undefined;
  readonly #maxBytes: number;
  #pending: Pending[] = [];
  /** Set while something waits, or the disk is waited for. */
  #writing: Promise<void> | undefined;
  #held = NOT_COUNTED;

  private constructor(rows: LedgerRows, maxBytes: number) {
    this.#rows = rows;
    this.#maxBytes = maxBytes;
  }

  /**
   * @param path A file, made when it is not there, or `:memory:`.
   * @param maxBytes The most that rejected messages may take.
   * @throws ServerError if the file is not a ledger, or was written by a newer version, or libsql cannot be loaded.
   */
  static async open(path: string, maxBytes: number = Number.MAX_SAFE_INTEGER): Promise<Ledger> {
    return new Ledger(path === ":memory:" ? ledgerInMemory() : await openLedgerFile(path), maxBytes);
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
    return this.#add({ rejections, source, now });
  }

  /** Keeps which endpoints accept forgeries, in place of those that were kept before. */
  keepForgeries(forgeries: readonly ForgeryJson[]): Promise<void> {
    return this.#add({ rejections: [], source: undefined, now: 0, forgeries });
  }

  /** The endpoints that accept forgeries, as they were kept last. */
  forgeries(): readonly ForgeryJson[] {
    return this.#opened.forgeries().map((forgery) => parseJson(forgery) as ForgeryJson);
  }

  /** The rejected messages that are kept, the newest first. */
  rejections(limit: number): readonly KeptRejection[] {
    return this.#opened
      .rejections(Math.min(limit, MAX_REJECTIONS))
      .map(({ id, at, source, rejection, message }) => ({
        id,
        receivedAt: iso(at),
        ...(source !== null && { source }),
        ...(parseJson(rejection) as Omit<Rejection, "message">),
        message,
      }));
  }

  /** Writes the remaining data and closes the file. */
  async close(): Promise<void> {
    await this.#writing;
    const rows = this.#rows;
    this.#rows = undefined;
    await rows?.close();
  }

  get #opened(): LedgerRows {
    if (this.#rows === undefined) throw new Error("The server is closed.");
    return this.#rows;
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
        await this.#opened.flush();
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
    const rows = this.#opened;
    rows.inTransaction(() => {
      for (const one of newest) this.#keep(one, rows);
      if (newest.length > 0) this.#trim(rows);
      if (forgeries) rows.keepForgeries(forgeries.map((forgery) => JSON.stringify(forgery)));
    });
  }

  #keep({ one, source, now }: Kept, rows: LedgerRows): void {
    const { message, ...rest } = one;
    const texts = { rejection: JSON.stringify(rest), message: printed(message) };
    rows.keep({ at: now, source, ...texts });
    const { rows: count, bytes } = this.#held;
    this.#held = {
      rows: count + 1,
      bytes: bytes + Buffer.byteLength(texts.rejection) + Buffer.byteLength(texts.message),
    };
  }

  #trim(rows: LedgerRows): void {
    const { rows: count, bytes } = this.#held;
    if (count <= MAX_REJECTIONS + REMOVED_AT_ONCE && bytes <= this.#maxBytes) return;
    rows.trim(MAX_REJECTIONS, this.#maxBytes);
    this.#held = rows.held();
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
