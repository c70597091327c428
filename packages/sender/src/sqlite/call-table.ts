import type Database from "libsql";
import type { MessageType } from "@countersign/core";
import { parseCursor } from "../delivery/cursor.ts";
import { limitOf } from "../delivery/delivery-filter.ts";
import type { SkippedCall, SkippedFilter, SkipReason } from "../delivery/skipped-call.ts";
import type { NewCall } from "../store/delivery-store.ts";
import { BulkWrite } from "./bulk-write.ts";
import { Conditions } from "./conditions.ts";
import { lastOf } from "./last-of.ts";
import { type StoredText, textOf, wholeTexts } from "./whole-text.ts";

type Statement = Database.Statement;

/** Texts of `skipped_call` that a client chooses, whole. */
export const SKIPPED_TEXTS: string = wholeTexts("message_id", "identity", "event");

/** The most skipped calls that are kept, and how many are left when there are more. */
const MOST_SKIPPED = 10_000;
const SKIPPED_LEFT = 9_500;

/** A row of `skipped_call`. */
export interface SkippedRow {
  readonly id: string;
  readonly message_id: StoredText;
  readonly type: MessageType;
  readonly source: string;
  readonly identity: StoredText;
  readonly event: StoredText | null;
  readonly accepted_at: number;
  readonly reason: SkipReason;
}

/** What is kept of calls besides their messages: the keys by which repeats are known, and the calls that were skipped. */
export class CallTable {
  readonly #db: Database.Database;
  readonly #addKeys: BulkWrite;
  /** One process owns the file, so it knows which positions are free. */
  #lastKey: number;
  readonly #keyAt: Statement;
  readonly #forgetKey: Statement;
  readonly #addSkipped: Statement;
  readonly #trimSkipped: Statement;
  /** How many calls may be added before there could be more than are kept. */
  #untilTrim = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#addKeys = new BulkWrite(
      db,
      "(?1, ?2, ?3, ?4)",
      (rows) => `INSERT INTO call_key (seq, source, key, at) ${rows} ON CONFLICT DO NOTHING`,
    );
    this.#lastKey = lastOf(db, "call_key");
    this.#keyAt = db.prepare("SELECT seq, at FROM call_key WHERE source = ? AND key = ?");
    this.#forgetKey = db.prepare("DELETE FROM call_key WHERE source = ? AND key = ?");
    this.#addSkipped = db.prepare("INSERT INTO skipped_call VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    this.#trimSkipped = db.prepare(
      `DELETE FROM skipped_call WHERE (accepted_at, id) <=
         (SELECT accepted_at, id FROM skipped_call ORDER BY accepted_at DESC, id DESC LIMIT 1 OFFSET ${SKIPPED_LEFT})`,
    );
  }

  /**
   * Remembers the keys of calls that have one; returns the positions of those whose source had the key within this time:
   * the repeats.
   */
  repeats(calls: readonly NewCall[], uniqueForMs: number): readonly number[] {
    const first = this.#lastKey + 1;
    let added = 0;
    for (const { source, key, acceptedAt } of calls) {
      this.#lastKey += 1;
      if (key === undefined) continue;
      added += 1;
      this.#addKeys.add(this.#lastKey, source, key, acceptedAt);
    }
    // Most have no repeat among them.
    if (this.#addKeys.write() === added) return [];
    return [...calls.keys()].filter((position) =>
      this.#isRepeat(calls[position] as NewCall, { first, seq: first + position }, uniqueForMs),
    );
  }

  /** Whether a call is a repeat whose key was added at `seq`, if no other call had it; the acceptance adds from `first` on. */
  #isRepeat(
    { source, key, acceptedAt }: NewCall,
    { first, seq }: { readonly first: number; readonly seq: number },
    uniqueForMs: number,
  ): boolean {
    if (key === undefined) return false;
    const known = this.#keyAt.get([source, key]) as { readonly seq: number; readonly at: number };
    if (known.seq === seq) return false;
    // What is accepted together is at no distance, also within no time.
    if (known.seq >= first || known.at > acceptedAt - uniqueForMs) return true;
    // Added anew, so that keys are in the order of their times.
    this.#forgetKey.run([source, key]);
    this.#addKeys.add(seq, source, key, acceptedAt);
    this.#addKeys.write();
    return false;
  }

  addSkipped(call: NewCall, { id, reason }: NonNullable<NewCall["skipped"]>): void {
    const { acceptedAt, messageId, type, source, identity, event = null } = call;
    this.#addSkipped.run([acceptedAt, id, messageId, type, source, identity, event, reason]);
    this.#untilTrim -= 1;
    if (this.#untilTrim > 0) return;
    this.#trimSkipped.run([]);
    this.#untilTrim = MOST_SKIPPED - SKIPPED_LEFT;
  }

  /** Skipped calls, the newest first. */
  skipped(filter: SkippedFilter): readonly SkippedCall[] {
    const conditions = new Conditions();
    conditions.any("source", filter.source).any("reason", filter.reason);
    const { since, until, after, q } = filter;
    if (since !== undefined) conditions.add("accepted_at >= ?", since);
    if (until !== undefined) conditions.add("accepted_at < ?", until);
    if (after !== undefined) {
      const { acceptedAt, id } = parseCursor(after);
      conditions.add("(accepted_at, id) < (?, ?)", acceptedAt, id);
    }
    if (q !== undefined) {
      const begins = new Conditions().startsWith("event", q);
      conditions.add(`(message_id = ? OR identity = ? OR (${begins.sql}))`, q, q, ...begins.values);
    }
    const rows = this.#db
      .prepare(
        `SELECT *, ${SKIPPED_TEXTS} FROM skipped_call WHERE ${conditions.sql} ORDER BY accepted_at DESC, id DESC LIMIT ?`,
      )
      .all([...conditions.values, limitOf(filter)]) as SkippedRow[];
    return rows.map(skippedCallOf);
  }
}

export function skippedCallOf(row: SkippedRow): SkippedCall {
  const { id, type, source, reason } = row;
  return {
    id,
    messageId: textOf(row.message_id),
    type,
    source,
    identity: textOf(row.identity),
    event: row.event === null ? undefined : textOf(row.event),
    acceptedAt: row.accepted_at,
    reason,
  };
}
