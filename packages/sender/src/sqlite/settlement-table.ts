import type Database from "libsql";
import type { Attempt } from "../delivery/attempt.ts";
import type { Settlement } from "../delivery/delivery.ts";
import type { DueRow } from "./delivery-table.ts";
import type { FileRoom } from "./file-room.ts";

type Statement = Database.Statement;

/** Columns of an attempt, which a row of `delivery` has for the last one and a row of `attempt` for the others. */
const ATTEMPT_COLUMNS = `round, endpoint, started_at, duration_ms, outcome, status, code, problem, fault,
  response, is_cut, request_headers, response_headers`;

const SET_ATTEMPT = ATTEMPT_COLUMNS.split(",")
  .map((column) => `${column.trim()} = ?`)
  .join(", ");

const NO_ATTEMPT: readonly null[] = ATTEMPT_COLUMNS.split(",").map(() => null);

/** The statements that record what became of a delivery in a round: prepared once. */
export class SettlementTable {
  readonly #room: FileRoom | undefined;
  readonly #endFirst: Statement;
  readonly #end: Statement;
  readonly #endAttempted: Statement;
  readonly #postpone: Statement;
  readonly #postponeAttempted: Statement;
  readonly #insertAttempt: Statement;
  readonly #moveAttempt: Statement;
  readonly #deleteAttempts: Statement;

  /** @param room Undefined: the file may grow without limit. */
  constructor(db: Database.Database, room: FileRoom | undefined) {
    this.#room = room;
    const end = "state = ?, ended_at = ?, due_at = NULL, rounds = rounds + 1, progress = '{}'";
    const postpone = "due_at = ?, rounds = ?, progress = ?";
    const attempted = `attempts = attempts + ?, ${SET_ATTEMPT}`;
    // Most deliveries end so. A value costs to bind as much as to store.
    this.#endFirst = db.prepare(
      `UPDATE delivery SET state = 'delivered', ended_at = ?, due_at = NULL, rounds = 1, attempts = 1,
         round = 1, outcome = 'success', endpoint = ?, started_at = ?, duration_ms = ?, status = ?, response = ?,
         request_headers = ?, response_headers = ? WHERE seq = ?`,
    );
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

  /**
   * Records the result of a round. Without room, the attempts of this delivery are dropped: its result matters more than
   * its log.
   */
  settle({ seq, due }: DueRow, settlement: Settlement): void {
    const { attempts } = settlement;
    const hasRoom = this.#room?.left !== "none";
    const last = attempts.at(-1);
    const isFirst = due.rounds === 0 && Object.keys(due.progress).length === 0;
    if (isFirst && hasRoom && last !== undefined && isPlainSuccess(settlement, last)) {
      this.#endAtFirst(seq, settlement.endedAt, last);
      return;
    }
    let logged: readonly (string | number | null)[] = [];
    if (!hasRoom) {
      this.#deleteAttempts.run([seq]);
      logged = [attempts.length, ...NO_ATTEMPT];
    } else if (last !== undefined) {
      // Those of earlier rounds come first. A delivery of which nothing is known has none.
      if (!isFirst) this.#moveAttempt.run([seq]);
      for (const attempt of attempts.slice(0, -1)) this.#insertAttempt.run([seq, ...columnsOf(attempt)]);
      logged = [attempts.length, ...columnsOf(last)];
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

  #endAtFirst(seq: number, endedAt: number, attempt: Attempt): void {
    const { endpoint, startedAt, durationMs, status = null, response } = attempt;
    const headers = [headersText(attempt.requestHeaders), headersText(attempt.responseHeaders)];
    this.#endFirst.run([endedAt, endpoint, startedAt, durationMs, status, response, ...headers, seq]);
  }
}

/** Whether a delivery was delivered with one attempt, of which there is nothing more to say. */
function isPlainSuccess(
  settlement: Settlement,
  { outcome, code, message, fault, cut }: Attempt,
): settlement is Extract<Settlement, { readonly endedAt: number }> {
  return (
    settlement.state === "delivered" &&
    settlement.attempts.length === 1 &&
    outcome === "success" &&
    (code ?? message ?? fault ?? cut) === undefined
  );
}

/** The values of {@link ATTEMPT_COLUMNS}. */
function columnsOf(attempt: Attempt): readonly (string | number | null)[] {
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
