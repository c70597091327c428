import type { AttemptSummary } from "@countersign/sender";
import type { Settlement } from "@countersign/sender/store";
import { Columns } from "../database/columns.ts";
import type { Element } from "../database/binary-array.ts";
import { encodeText } from "../database/text.ts";
import { dayOf, inSchema, type Names } from "../schema/names.ts";
import { type ColumnTypes, unnestOf } from "./rows-of.ts";

/** A settlement of a delivery that was claimed. */
export interface SettleEntry {
  readonly id: string;
  /** The number of the claim. */
  readonly claim: number;
  readonly settlement: Settlement;
  /** When it was accepted, in milliseconds since 1970. */
  readonly acceptedAt: number;
  /** When it is stored, in milliseconds since 1970. */
  readonly now: number;
}

/** Columns of a settlement, in the order of their parameters. */
const GIVEN: ColumnTypes = {
  id: "text",
  claim: "bigint",
  state: "text",
  due_at: "bigint",
  ended_at: "bigint",
  rounds: "integer",
  progress: "text",
  attempts: "integer",
  last: "text",
  outcome: "text",
  status: "integer",
  endpoint: "text",
  log: "text",
  day: "integer",
};

/** Columns of attempts that are logged, in the order of their parameters. */
const LOGGED: ColumnTypes = { id: "text", claim: "bigint", day: "integer", at: "bigint", log: "text" };

/** A body that is needed for longer than those of its day: it moves with the delivery that ends. */
const CARRIED = `carried AS (
      INSERT INTO $.message (source, id, day, body)
      SELECT m.source, m.id, g.day, m.body FROM gone AS g
        JOIN $.message AS m ON m.source = g.source AND m.id = g.message AND m.day = g.message_day
      WHERE g.day > g.message_day + 1 ON CONFLICT DO NOTHING),`;

/**
 * Stores settlements of one source, and answers the ids of those that are refused: what is settled must still be claimed by
 * this worker, with this claim; what another has taken over is not touched. A delivery that has ended moves to the partition
 * of its day.
 *
 * No index must be asked for the worker, whose claims are many: hence IS TRUE.
 *
 * @param carries - Whether one of them needs its body carried along: see {@link carriesBody}.
 */
export function settleSql(names: Names, carries: boolean): string {
  return inSchema(
    names,
    `WITH s AS (
      SELECT s.*, k.place FROM ${unnestOf(GIVEN, 3, "s")} CROSS JOIN LATERAL (
        SELECT d.ctid AS place, d.worker, d.claim FROM $.delivery AS d WHERE d.source = $1 AND d.id = s.id FOR UPDATE) AS k
      WHERE (k.worker = $2) IS TRUE AND k.claim = s.claim),
    gone AS (
      DELETE FROM $.delivery AS d USING s WHERE d.ctid = s.place AND s.state <> 'pending'
      RETURNING d.source, d.id, d.destination, d.message, d.message_day, d.message_id, d.type, d.identity, d.event, d.accepted_at,
        d.rounds + 1 AS rounds, d.attempts + s.attempts AS attempts, coalesce(s.last, d.last) AS last,
        coalesce(s.outcome, d.last_outcome) AS outcome, CASE WHEN s.last IS NULL THEN d.last_status ELSE s.status END AS status,
        coalesce(s.endpoint, d.last_endpoint) AS endpoint, d.resend_of, $2 || ':' || s.claim AS settled,
        s.day, s.state, s.ended_at, s.log),
    ${carries ? CARRIED : ""}
    moved AS (
      INSERT INTO $.ended (source, id, destination, message, message_day, message_id, type, identity, event, accepted_at,
        rounds, attempts, last, last_outcome, last_status, last_endpoint, resend_of, settled, day, state, ended_at, log)
      SELECT source, id, destination, message, CASE WHEN day > message_day + 1 THEN day ELSE message_day END, message_id, type,
        identity, event, accepted_at, rounds, attempts, last, outcome, status, endpoint, resend_of, settled, day, state, ended_at, log
      FROM gone),
    postponed AS (
      UPDATE $.delivery AS d SET due_at = s.due_at, rounds = s.rounds, progress = s.progress,
        attempts = d.attempts + s.attempts, last = coalesce(s.last, d.last), last_outcome = coalesce(s.outcome, d.last_outcome),
        last_status = CASE WHEN s.last IS NULL THEN d.last_status ELSE s.status END,
        last_endpoint = coalesce(s.endpoint, d.last_endpoint), worker = NULL, claim = NULL, settled = $2 || ':' || s.claim
      FROM s WHERE d.ctid = s.place AND s.state = 'pending'
      RETURNING d.source, d.id, d.settled, s.attempts, s.log, s.day, s.ended_at),
    logged AS (
      INSERT INTO $.attempt (source, delivery, token, day, logged_at, log)
      SELECT source, id, settled, day, ended_at, log FROM postponed WHERE attempts > 0 ON CONFLICT DO NOTHING),
    tallied AS (
      INSERT INTO $.tally AS t (source, destination, day, writer, pending, delivered, failed, expired)
      SELECT $1, destination, day, $2 || '/settled', -count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'delivered'),
        count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'expired')
      FROM (SELECT destination, -1 AS day, 'pending' AS state FROM gone UNION ALL SELECT destination, day, state FROM gone) AS g
      GROUP BY destination, day ORDER BY destination, day
      ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending,
        delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed, expired = t.expired + excluded.expired)
    SELECT id FROM unnest($3::text[]) AS g (id) WHERE id NOT IN (SELECT id FROM s)`,
  );
}

/** The values of {@link settleSql}. */
export function settleValues(source: string, worker: string, entries: readonly SettleEntry[]): unknown[] {
  const columns = new Columns(Object.values(GIVEN), entries.length);
  for (const entry of entries) columns.add(rowOf(entry));
  return [encodeText(source), worker, ...columns.values()];
}

/** Whether a body would go with its day before the delivery that ends does. */
export function carriesBody({ settlement, acceptedAt }: SettleEntry): boolean {
  return settlement.state !== "pending" && dayOf(settlement.endedAt) > dayOf(acceptedAt) + 1;
}

/** The days that rows of these settlements fall on. */
export function daysOf(entries: readonly SettleEntry[]): ReadonlySet<number> {
  return new Set(entries.map(dayOfEntry));
}

function dayOfEntry({ settlement, now }: SettleEntry): number {
  return dayOf(settlement.state === "pending" ? now : settlement.endedAt);
}

function rowOf(entry: SettleEntry): readonly Element[] {
  const { id, claim, settlement, now } = entry;
  const { state } = settlement;
  const round = [...roundOf(settlement), dayOfEntry(entry)];
  // A clock may tell fractions of a millisecond.
  if (state !== "pending")
    return [encodeText(id), claim, state, null, Math.round(settlement.endedAt), 0, "{}", ...round];
  const progress = encodeText(JSON.stringify(settlement.progress));
  const dueAt = Math.round(settlement.dueAt);
  return [encodeText(id), claim, state, dueAt, Math.round(now), settlement.rounds, progress, ...round];
}

/** How many attempts a round has made, the last one and what is searched of it, and the log of all. */
export function roundOf({ attempts }: Pick<Settlement, "attempts">): readonly Element[] {
  const log = JSON.stringify(attempts);
  const last = attempts.at(-1);
  if (last === undefined) return [0, null, null, null, null, log];
  const { round, endpoint, startedAt, durationMs, outcome, status, code, message, fault } = last;
  const summary: AttemptSummary = {
    round,
    endpoint,
    startedAt,
    durationMs,
    outcome,
    status,
    code,
    message,
    fault,
  };
  return [attempts.length, JSON.stringify(summary), outcome, status ?? null, encodeText(endpoint), log];
}

/** How each of these claims was settled, if it was: to find out after an answer was lost. */
export function settledSql(names: Names): string {
  return inSchema(
    names,
    `SELECT id, settled FROM $.delivery WHERE source = $1 AND id = ANY ($2::text[])
     UNION ALL SELECT id, settled FROM $.ended WHERE source = $1 AND id = ANY ($2::text[])`,
  );
}

/** Logs the attempts of a claim that was lost. */
export function logLostSql(names: Names): string {
  return inSchema(
    names,
    `INSERT INTO $.attempt (source, delivery, token, day, logged_at, log)
     SELECT $1, id, $2 || ':' || claim, day, at, log
     FROM ${unnestOf(LOGGED, 3, "l")} ON CONFLICT DO NOTHING`,
  );
}

/** The values of {@link logLostSql}. */
export function logLostValues(source: string, worker: string, entries: readonly SettleEntry[]): unknown[] {
  const columns = new Columns(Object.values(LOGGED), entries.length);
  for (const entry of entries) {
    const { id, claim, now, settlement } = entry;
    if (settlement.attempts.length === 0) continue;
    columns.add([encodeText(id), claim, dayOfEntry(entry), now, JSON.stringify(settlement.attempts)]);
  }
  return [encodeText(source), worker, ...columns.values()];
}
