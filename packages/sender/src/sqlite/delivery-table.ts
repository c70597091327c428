import type Database from "libsql";
import { hastenedProgress } from "../delivery/rounds.ts";
import type { DeliveryProgress, DueDelivery } from "../delivery/delivery.ts";
import type { NewDelivery, NewMessage, NextDelivery } from "../store/delivery-store.ts";
import { BulkWrite } from "./bulk-write.ts";
import { type DeliveryRow, dueDeliveryOf, SELECT_DELIVERIES } from "./delivery-rows.ts";
import { lastOf } from "./last-of.ts";

type Statement = Database.Statement;

/** A delivery that is due, and its position in the table. */
export interface DueRow {
  readonly seq: number;
  readonly due: DueDelivery;
}

/** A delivery that is pending. */
export interface WaitingRow {
  readonly seq: number;
  readonly destination: string;
  readonly dueAt: number;
  readonly progress: DeliveryProgress;
}

type StoredWaitingRow = Omit<WaitingRow, "progress"> & { readonly progress: string };

/** The statements that accepting and claiming run: prepared once. */
export class DeliveryTable {
  readonly #messages: BulkWrite;
  readonly #deliveries: BulkWrite;
  /** One process owns the file, so it knows which positions are free. */
  #lastMessage: number;
  #lastDelivery: number;
  /** The first position that is not due to anybody yet, since the disk may not have it. */
  #heldFrom = Number.MAX_SAFE_INTEGER;
  readonly #share: Statement;
  readonly #repeat: Statement;
  readonly #repeatChanged: Statement;
  readonly #due: Statement;
  readonly #nextDue: Statement;
  readonly #waiting: Statement;
  readonly #hasten: Statement;

  constructor(db: Database.Database) {
    // A delivery has the other columns; older versions had them here.
    this.#messages = new BulkWrite(
      db,
      "(?1, '', '', '', '', ?2)",
      (rows) => `INSERT INTO message (seq, message_id, type, source, identity, body) ${rows}`,
    );
    this.#deliveries = new BulkWrite(
      db,
      "(?1, ?2, ?3, ?4, 'pending', ?5, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      (rows) => `INSERT INTO delivery (seq, id, message, destination, state, accepted_at, due_at,
         message_id, type, source, identity, event, is_shared) ${rows}`,
    );
    this.#lastMessage = lastOf(db, "message");
    this.#lastDelivery = lastOf(db, "delivery");
    this.#share = db.prepare("UPDATE delivery SET is_shared = 1 WHERE id = ?");
    this.#repeat = db.prepare(
      `INSERT INTO delivery (seq, id, message, destination, state, accepted_at, due_at,
         message_id, type, source, identity, event, is_shared, resend_of)
       SELECT ?, ?, message, destination, 'pending', ?, ?, message_id, type, source, identity, event, 1, id
       FROM delivery WHERE id = ?`,
    );
    this.#repeatChanged = db.prepare(
      `INSERT INTO delivery (seq, id, message, destination, state, accepted_at, due_at,
         message_id, type, source, identity, event, resend_of)
       SELECT ?, ?, ?, destination, 'pending', ?, ?, ?, ?, source, ?, ?, id FROM delivery WHERE id = ?`,
    );
    // Found with the index delivery_due only, so that its cost does not depend on how many are pending.
    this.#due = db.prepare(
      `${SELECT_DELIVERIES}
       WHERE d.destination = ? AND d.state = 'pending' AND d.due_at <= ? AND d.seq < ?
         AND d.seq NOT IN (SELECT value FROM json_each(?))
       ORDER BY d.due_at, d.seq LIMIT ?`,
    );
    this.#nextDue = db.prepare(
      "SELECT min(due_at) AS at FROM delivery WHERE destination = ? AND state = 'pending' AND due_at > ?",
    );
    this.#waiting = db.prepare(
      `SELECT seq, destination, due_at AS dueAt, progress FROM delivery
       WHERE id IN (SELECT value FROM json_each(?)) AND +state = 'pending' AND +due_at > ?`,
    );
    this.#hasten = db.prepare("UPDATE delivery SET due_at = ?, progress = ? WHERE seq = ?");
  }

  /** What is stored from now on is not due until `letGo()`. */
  holdBack(): void {
    this.#heldFrom = Math.min(this.#heldFrom, this.#lastDelivery + 1);
  }

  letGo(): void {
    this.#heldFrom = Number.MAX_SAFE_INTEGER;
  }

  /** Forgets what was added: its transaction failed. */
  clear(): void {
    this.#messages.clear();
    this.#deliveries.clear();
  }

  /** Inserts the messages and deliveries that were added. */
  write(): void {
    this.#messages.write();
    this.#deliveries.write();
  }

  /** Adds the body of a message, for `write()`; returns its position. */
  addMessage(body: Uint8Array): number {
    this.#lastMessage += 1;
    this.#messages.add(this.#lastMessage, body);
    return this.#lastMessage;
  }

  /**
   * Adds a delivery of a message, for `write()`; returns its position.
   *
   * @param row The position of its message.
   * @param isShared Whether the message has other deliveries.
   */
  addDelivery({ id, destination }: NewDelivery, row: number, message: NewMessage, isShared: boolean): number {
    const { acceptedAt, messageId, type, source, identity, event = null } = message;
    this.#lastDelivery += 1;
    const seq = this.#lastDelivery;
    const shared = isShared ? 1 : 0;
    this.#deliveries.add(
      seq,
      id,
      row,
      destination,
      acceptedAt,
      messageId,
      type,
      source,
      identity,
      event,
      shared,
    );
    return seq;
  }

  /** Stores another delivery of the message of `id`, or of another one; returns false if the store does not have `id`. */
  repeat(id: string, { id: nextId, acceptedAt, message }: NextDelivery): boolean {
    this.write();
    this.#lastDelivery += 1;
    const seq = this.#lastDelivery;
    if (message === undefined) {
      if (this.#repeat.run([seq, nextId, acceptedAt, acceptedAt, id]).changes === 0) return false;
      this.#share.run([id]);
      return true;
    }
    const { messageId, type, identity, event = null, body } = message;
    const about = [messageId, type, identity, event];
    const values = [seq, nextId, this.addMessage(body), acceptedAt, acceptedAt, ...about, id];
    this.write();
    return this.#repeatChanged.run(values).changes > 0;
  }

  /** The longest due of a destination, but for those at some positions, and those that are held back. */
  due(destination: string, now: number, limit: number, except: Iterable<number>): readonly DueRow[] {
    const rows = this.#due.all([
      destination,
      now,
      this.#heldFrom,
      JSON.stringify([...except]),
      limit,
    ]) as DeliveryRow[];
    return rows.map((row) => ({ seq: row.seq, due: dueDeliveryOf(row) }));
  }

  /** When the next delivery that is not due yet falls due. */
  nextDueAt(destination: string, now: number): number | undefined {
    const row = this.#nextDue.get([destination, now]) as { at: number | null } | undefined;
    return row?.at ?? undefined;
  }

  /** Those of some deliveries that are pending and due later than a time. */
  waiting(ids: readonly string[], laterThan: number): readonly WaitingRow[] {
    return (this.#waiting.all([JSON.stringify(ids), laterThan]) as StoredWaitingRow[]).map(waitingRowOf);
  }

  /** Makes it due, for endpoints that asked to be called later, too; returns when. One that is due already keeps its place. */
  hasten({ seq, progress, dueAt }: WaitingRow, latest: number): number {
    const at = Math.min(dueAt, latest);
    this.#hasten.run([at, JSON.stringify(hastenedProgress(progress)), seq]);
    return at;
  }
}

function waitingRowOf(row: StoredWaitingRow): WaitingRow {
  return { ...row, progress: JSON.parse(row.progress) as DeliveryProgress };
}
