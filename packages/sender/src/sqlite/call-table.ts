import type Database from "libsql";
import type { MessageType } from "@countersign/core";
import { parseCursor } from "../delivery/cursor.ts";
import { limitOf } from "../delivery/delivery-filter.ts";
import type { SkippedCall, SkippedFilter, SkipReason } from "../delivery/skipped-call.ts";
import type { NewCall } from "../store/delivery-store.ts";
import { Conditions, prefixEnd } from "./conditions.ts";
import { type StoredText, textOf, wholeTexts } from "./whole-text.ts";

type Statement = Database.Statement;

/** The most skipped calls that are kept, and how many are left when there are more. */
/** Texts that a client chooses, whole. */
const SKIPPED_TEXTS: string = wholeTexts("message_id", "identity", "event");
const MOST_SKIPPED = 10_000;
const SKIPPED_LEFT = 9_500;

interface SkippedRow {
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
  readonly #addKey: Statement;
  readonly #keyAt: Statement;
  readonly #forgetKey: Statement;
  readonly #addSkipped: Statement;
  readonly #trimSkipped: Statement;
  /** How many calls may be added before there could be more than are kept. */
  #untilTrim = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#addKey = db.prepare(
      "INSERT INTO call_key (source, key, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    );
    this.#keyAt = db.prepare("SELECT at FROM call_key WHERE source = ? AND key = ?");
    this.#forgetKey = db.prepare("DELETE FROM call_key WHERE source = ? AND key = ?");
    this.#addSkipped = db.prepare("INSERT INTO skipped_call VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    this.#trimSkipped = db.prepare(
      `DELETE FROM skipped_call WHERE (accepted_at, id) <=
         (SELECT accepted_at, id FROM skipped_call ORDER BY accepted_at DESC, id DESC LIMIT 1 OFFSET ${SKIPPED_LEFT})`,
    );
  }

  /**
   * Remembers the key of a call, if it has one; returns false if its source had the key within this time: the call is a
   * repeat.
   */
  isNew({ source, key, acceptedAt }: NewCall, uniqueForMs: number): boolean {
    if (key === undefined || this.#addKey.run([source, key, acceptedAt]).changes > 0) return true;
    const known = this.#keyAt.get([source, key]) as { readonly at: number };
    if (known.at > acceptedAt - uniqueForMs) return false;
    // Added anew, so that keys are in the order of their times.
    this.#forgetKey.run([source, key]);
    this.#addKey.run([source, key, acceptedAt]);
    return true;
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
    if (q !== undefined)
      conditions.add("(message_id = ? OR identity = ? OR (event >= ? AND event < ?))", q, q, q, prefixEnd(q));
    const rows = this.#db
      .prepare(
        `SELECT *, ${SKIPPED_TEXTS} FROM skipped_call WHERE ${conditions.sql} ORDER BY accepted_at DESC, id DESC LIMIT ?`,
      )
      .all([...conditions.values, limitOf(filter)]) as SkippedRow[];
    return rows.map(skippedCallOf);
  }
}

function skippedCallOf(row: SkippedRow): SkippedCall {
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
