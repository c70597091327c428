import type Database from "libsql";
import type { Attempt } from "../delivery/attempt.ts";
import type { DeliveryProgress, DueDelivery, Settlement } from "../delivery/delivery.ts";
import type { NewDelivery, NewMessage, NewMessageContent } from "../store/delivery-store.ts";
import { type DeliveryRow, dueDeliveryOf, SELECT_DELIVERIES } from "./delivery-rows.ts";
import type { RoomLeft } from "./file-room.ts";

type Statement = Database.Statement;

/** A delivery that is due, and its position in the table. */
export interface DueRow {
  readonly seq: number;
  readonly due: DueDelivery;
}

/** A delivery that is pending. */
interface WaitingRow {
  readonly seq: number;
  readonly destination: string;
  readonly progress: DeliveryProgress;
}

/** What is set of the repetition of a delivery. */
export interface Repetition {
  readonly id: string;
  readonly acceptedAt: number;
  readonly message?: NewMessageContent | undefined;
}

/** Columns of an attempt, which a row of `delivery` has for the last one and a row of `attempt` for the others. */
const ATTEMPT_COLUMNS = `round, endpoint, started_at, duration_ms, outcome, status, code, problem, fault,
  response, is_cut, request_headers, response_headers`;

const SET_ATTEMPT = ATTEMPT_COLUMNS.split(",")
  .map((column) => `${column.trim()} = ?`)
  .join(", ");

const NO_ATTEMPT: readonly null[] = ATTEMPT_COLUMNS.split(",").map(() => null);

/** The statements that accepting, claiming and settling run: prepared once. */
export class DeliveryTable {
  readonly #insertMessage: Statement;
  readonly #insertDelivery: Statement;
  readonly #share: Statement;
  readonly #repeat: Statement;
  readonly #repeatChanged: Statement;
  readonly #due: Statement;
  readonly #nextDue: Statement;
  readonly #waiting: Statement;
  readonly #hasten: Statement;
  readonly #end: Statement;
  readonly #endAttempted: Statement;
  readonly #postpone: Statement;
  readonly #postponeAttempted: Statement;
  readonly #insertAttempt: Statement;
  readonly #moveAttempt: Statement;
  readonly #deleteAttempts: Statement;

  constructor(db: Database.Database) {
    // A delivery has these columns; older versions had them here.
    this.#insertMessage = db.prepare(
      "INSERT INTO message (message_id, type, source, identity, body) VALUES ('', '', '', '', ?)",
    );
    this.#insertDelivery = db.prepare(
      `INSERT INTO delivery (id, message, destination, state, accepted_at, due_at,
         message_id, type, source, identity, event, is_shared)
       VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#share = db.prepare("UPDATE delivery SET is_shared = 1 WHERE id = ?");
    this.#repeat = db.prepare(
      `INSERT INTO delivery (id, message, destination, state, accepted_at, due_at,
         message_id, type, source, identity, event, is_shared, resend_of)
       SELECT ?, message, destination, 'pending', ?, ?, message_id, type, source, identity, event, 1, id
       FROM delivery WHERE id = ?`,
    );
    this.#repeatChanged = db.prepare(
      `INSERT INTO delivery (id, message, destination, state, accepted_at, due_at,
         message_id, type, source, identity, event, resend_of)
       SELECT ?, ?, destination, 'pending', ?, ?, ?, ?, source, ?, ?, id FROM delivery WHERE id = ?`,
    );
    // Found with the index delivery_due only, so that its cost does not depend on how many are pending.
    this.#due = db.prepare(
      `${SELECT_DELIVERIES}
       WHERE d.destination = ? AND d.state = 'pending' AND d.due_at <= ?
         AND d.seq NOT IN (SELECT value FROM json_each(?))
       ORDER BY d.due_at, d.seq LIMIT ?`,
    );
    this.#nextDue = db.prepare(
      "SELECT min(due_at) AS at FROM delivery WHERE destination = ? AND state = 'pending' AND due_at > ?",
    );
    this.#waiting = db.prepare(
      "SELECT seq, destination, progress FROM delivery WHERE id = ? AND state = 'pending'",
    );
    this.#hasten = db.prepare("UPDATE delivery SET due_at = ?, progress = ? WHERE seq = ?");
    const end = "state = ?, ended_at = ?, due_at = NULL, rounds = rounds + 1, progress = '{}'";
    const postpone = "due_at = ?, rounds = ?, progress = ?";
    const attempted = `attempts = attempts + ?, ${SET_ATTEMPT}`;
    this.#end = db.prepare(`UPDATE delivery SET ${end} WHERE seq = ?`);
    this.#endAttempted = db.prepare(`UPDATE delivery SET ${end}, ${attempted} WHERE seq = ?`);
    this.#postpone = db.prepare(`UPDATE delivery SET ${postpone} WHERE seq = ?`);
    this.#postponeAttempted = db.prepare(`UPDATE delivery SET ${postpone}, ${attempted} WHERE seq = ?`);
    this.#insertAttempt = db.prepare(
      `INSERT INTO attempt (delivery, ${ATTEMPT_COLUMNS}) VALUES (?, ${NO_ATTEMPT.map(() => "?").join(", ")})`,
    );
    this.#moveAttempt = db.prepare(
      `INSERT INTO attempt (delivery, ${ATTEMPT_COLUMNS}) SELECT seq, ${ATTEMPT_COLUMNS} FROM delivery
       WHERE seq = ? AND endpoint IS NOT NULL`,
    );
    this.#deleteAttempts = db.prepare("DELETE FROM attempt WHERE delivery = ?");
  }

  /** Stores the body of a message; returns its position. */
  insertMessage(body: Uint8Array): number {
    return Number(this.#insertMessage.run([body]).lastInsertRowid);
  }

  /**
   * Stores a delivery of a stored message; returns its position.
   *
   * @param isShared whether the message has other deliveries
   */
  insertDelivery(
    { id, destination }: NewDelivery,
    body: number,
    message: NewMessage,
    isShared: boolean,
  ): number {
    const { acceptedAt, messageId, type, source, identity, event = null } = message;
    const run = this.#insertDelivery.run([
      id,
      body,
      destination,
      acceptedAt,
      acceptedAt,
      messageId,
      type,
      source,
      identity,
      event,
      isShared ? 1 : 0,
    ]);
    return Number(run.lastInsertRowid);
  }

  /** Stores another delivery of the message of `id`, or of another one; returns false if the store does not have `id`. */
  repeat(id: string, { id: nextId, acceptedAt, message }: Repetition): boolean {
    if (message === undefined) {
      if (this.#repeat.run([nextId, acceptedAt, acceptedAt, id]).changes === 0) return false;
      this.#share.run([id]);
      return true;
    }
    const { messageId, type, identity, event = null, body } = message;
    const about = [messageId, type, identity, event];
    const values = [nextId, this.insertMessage(body), acceptedAt, acceptedAt, ...about, id];
    return this.#repeatChanged.run(values).changes > 0;
  }

  /** The longest due of a destination, but for those at some positions. */
  due(destination: string, now: number, limit: number, except: Iterable<number>): readonly DueRow[] {
    const rows = this.#due.all([destination, now, JSON.stringify([...except]), limit]) as DeliveryRow[];
    return rows.map((row) => ({ seq: row.seq, due: dueDeliveryOf(row) }));
  }

  /** When the next delivery that is not due yet falls due. */
  nextDueAt(destination: string, now: number): number | undefined {
    const row = this.#nextDue.get([destination, now]) as { at: number | null } | undefined;
    return row?.at ?? undefined;
  }

  /** Where a pending delivery is, and what is known of its endpoints. */
  waiting(id: string): WaitingRow | undefined {
    const row = this.#waiting.get([id]) as { seq: number; destination: string; progress: string } | undefined;
    return row && { ...row, progress: JSON.parse(row.progress) as DeliveryProgress };
  }

  /** Makes it due, for endpoints that asked to be called later, too. */
  hasten({ seq, progress }: WaitingRow, dueAt: number): void {
    const endpoints = Object.entries(progress).map(([url, { rejected }]) => [url, { rejected }]);
    this.#hasten.run([dueAt, JSON.stringify(Object.fromEntries(endpoints)), seq]);
  }

  /**
   * Records the result of a round. Without room, the attempts of this delivery are dropped: its result matters more than
   * its log.
   */
  settle(seq: number, due: DueDelivery, settlement: Settlement, room: RoomLeft): void {
    const { attempts } = settlement;
    const last = attempts.at(-1);
    let logged: readonly (string | number | null)[] = [];
    if (room === "none") {
      this.#deleteAttempts.run([seq]);
      logged = [attempts.length, ...NO_ATTEMPT];
    } else if (last !== undefined) {
      // Those of earlier rounds come first. A delivery of which nothing is known has none.
      if (due.rounds > 0 || Object.keys(due.progress).length > 0) this.#moveAttempt.run([seq]);
      for (const attempt of attempts.slice(0, -1)) this.#insertAttempt.run([seq, ...valuesOf(attempt)]);
      logged = [attempts.length, ...valuesOf(last)];
    }
    if (settlement.state === "pending") {
      const statement = logged.length === 0 ? this.#postpone : this.#postponeAttempted;
      const { dueAt, rounds, progress } = settlement;
      statement.run([dueAt, rounds, JSON.stringify(progress), ...logged, seq]);
    } else {
      const statement = logged.length === 0 ? this.#end : this.#endAttempted;
      statement.run([settlement.state, settlement.endedAt, ...logged, seq]);
    }
  }
}

function valuesOf(attempt: Attempt): readonly (string | number | null)[] {
  return [
    attempt.round,
    attempt.endpoint,
    attempt.startedAt,
    attempt.durationMs,
    attempt.outcome,
    attempt.status ?? null,
    attempt.code ?? null,
    attempt.message ?? null,
    attempt.fault ?? null,
    attempt.response,
    attempt.cut === true ? 1 : null,
    headersText(attempt.requestHeaders),
    headersText(attempt.responseHeaders),
  ];
}

function headersText(headers: Readonly<Record<string, string>> | undefined): string | null {
  return headers === undefined ? null : JSON.stringify(headers);
}
