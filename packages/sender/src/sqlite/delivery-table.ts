import type Database from "libsql";
import type { Attempt } from "../delivery/attempt.ts";
import type { DueDelivery, Settlement } from "../delivery/delivery.ts";
import type { NewDelivery, NewMessage } from "../store/delivery-store.ts";
import { type DeliveryRow, dueDeliveryOf } from "./delivery-rows.ts";
import type { RoomLeft } from "./file-room.ts";

type Statement = Database.Statement;

/** A delivery that is due, by its position in the table. */
export interface DueRow {
  readonly seq: number;
}

/** The statements that accepting, claiming and settling run: prepared once. */
export class DeliveryTable {
  readonly #insertMessage: Statement;
  readonly #insertDelivery: Statement;
  readonly #repeat: Statement;
  readonly #due: Statement;
  readonly #nextDue: Statement;
  readonly #load: Statement;
  readonly #end: Statement;
  readonly #postpone: Statement;
  readonly #insertAttempt: Statement;
  readonly #deleteAttempts: Statement;

  constructor(db: Database.Database) {
    this.#insertMessage = db.prepare(
      "INSERT INTO message (message_id, type, source, identity, event, body) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#insertDelivery = db.prepare(
      "INSERT INTO delivery (id, message, destination, state, accepted_at, due_at) VALUES (?, ?, ?, 'pending', ?, ?)",
    );
    this.#repeat = db.prepare(
      `INSERT INTO delivery (id, message, destination, state, accepted_at, due_at)
       SELECT ?, message, destination, 'pending', ?, ? FROM delivery WHERE id = ?`,
    );
    // Answered from the index delivery_due only, so its cost does not depend on how many are pending.
    this.#due = db.prepare(
      `SELECT seq FROM delivery WHERE destination = ? AND state = 'pending' AND due_at <= ?
       ORDER BY due_at, seq LIMIT ?`,
    );
    this.#nextDue = db.prepare(
      "SELECT min(due_at) AS at FROM delivery WHERE destination = ? AND state = 'pending' AND due_at > ?",
    );
    this.#load = db.prepare(
      "SELECT m.*, d.* FROM delivery AS d JOIN message AS m ON m.seq = d.message WHERE d.seq = ?",
    );
    this.#end = db.prepare(
      `UPDATE delivery SET state = ?, ended_at = ?, due_at = NULL, rounds = rounds + 1, progress = '{}' WHERE seq = ?`,
    );
    this.#postpone = db.prepare("UPDATE delivery SET due_at = ?, rounds = ?, progress = ? WHERE seq = ?");
    this.#deleteAttempts = db.prepare("DELETE FROM attempt WHERE delivery = ?");
    this.#insertAttempt = db.prepare(
      `INSERT INTO attempt
         (delivery, round, endpoint, started_at, duration_ms, outcome, status, code, message, response, fault)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  /** Stores a message; returns its position. */
  insertMessage(message: NewMessage): number {
    const { messageId, type, source, identity, event, body } = message;
    const values = [messageId, type, source, identity, event ?? null, body];
    return Number(this.#insertMessage.run(values).lastInsertRowid);
  }

  /** Stores a delivery of a stored message; returns its position. */
  insertDelivery({ id, destination }: NewDelivery, message: number, acceptedAt: number): number {
    const values = [id, message, destination, acceptedAt, acceptedAt];
    return Number(this.#insertDelivery.run(values).lastInsertRowid);
  }

  /** Stores another delivery of the message of `id`; returns false if the store does not have it. */
  repeat(id: string, nextId: string, acceptedAt: number): boolean {
    return this.#repeat.run([nextId, acceptedAt, acceptedAt, id]).changes > 0;
  }

  /** The longest due of a destination. */
  due(destination: string, now: number, limit: number): readonly DueRow[] {
    // The statement selects exactly these columns.
    return this.#due.all([destination, now, limit]) as DueRow[];
  }

  /** When the next delivery that is not due yet falls due. */
  nextDueAt(destination: string, now: number): number | undefined {
    const row = this.#nextDue.get([destination, now]) as { at: number | null } | undefined;
    return row?.at ?? undefined;
  }

  load(seq: number): DueDelivery {
    return dueDeliveryOf(this.#load.get([seq]) as DeliveryRow);
  }

  /**
   * Records the result of a round. Without room, the attempts of this delivery are dropped: its result matters more than
   * its log.
   */
  settle(seq: number, settlement: Settlement, room: RoomLeft): void {
    if (room === "none") this.#deleteAttempts.run([seq]);
    else for (const attempt of settlement.attempts) this.#insert(seq, attempt);
    if (settlement.state === "pending") {
      this.#postpone.run([settlement.dueAt, settlement.rounds, JSON.stringify(settlement.progress), seq]);
    } else {
      this.#end.run([settlement.state, settlement.endedAt, seq]);
    }
  }

  #insert(delivery: number, attempt: Attempt): void {
    const { round, endpoint, startedAt, durationMs, outcome, status, code, message, response, fault } =
      attempt;
    this.#insertAttempt.run([
      delivery,
      round,
      endpoint,
      startedAt,
      durationMs,
      outcome,
      status ?? null,
      code ?? null,
      message ?? null,
      response,
      fault ?? null,
    ]);
  }
}
