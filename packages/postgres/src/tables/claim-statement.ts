import { inSchema, type Names } from "../schema/names.ts";
import type { ClaimedRow } from "./delivery-rows.ts";

/** An answer row: a lane, when its next delivery falls due, and one delivery that was claimed for it, if any. */
export interface ClaimRow extends Partial<ClaimedRow> {
  readonly lane: string;
  readonly next_due_at: number | null;
  readonly alive: boolean;
  /** How many were to be claimed of all lanes. One that another command has changed meanwhile is left for the next claim. */
  readonly picked: number;
}

/**
 * Claims the longest due of some destinations of one source: `$5` destinations, `$6` how many of each, `$7` the time. A
 * worker whose epoch is over claims nothing, also when the command arrives late. It does not wait for the disk: a claim that
 * a crash of the database takes back was one to deliver, and is made again.
 *
 * Where a condition ends in IS TRUE, no index must be asked for it.
 */
export function claimSql(names: Names): string {
  return inSchema(
    names,
    `WITH fast AS (SELECT set_config('synchronous_commit', 'off', true) AS value),
    alive AS (SELECT id FROM $.worker WHERE id = $2 AND epoch = $3 AND (SELECT value FROM fast) = 'off' FOR KEY SHARE),
    wanted AS (SELECT * FROM unnest($5::text[], $6::int[]) AS w (destination, room)),
    picked AS (
      SELECT p.place FROM alive, wanted AS w CROSS JOIN LATERAL (
        SELECT d.ctid AS place FROM $.delivery AS d
        WHERE d.source = $1 AND d.destination = w.destination AND d.worker IS NULL AND d.due_at <= $7::bigint
        ORDER BY d.due_at, d.id LIMIT w.room FOR UPDATE SKIP LOCKED) AS p),
    claimed AS (
      UPDATE $.delivery AS d SET worker = $2, claim = $4::bigint FROM picked AS p
      WHERE d.ctid = p.place AND (d.worker IS NULL) IS TRUE
      RETURNING d.source, d.id, d.destination, d.message, d.message_day, d.message_id, d.type, d.identity, d.event,
        d.accepted_at, d.due_at, d.rounds, d.progress)
    SELECT w.destination AS lane, n.due_at AS next_due_at, EXISTS (SELECT FROM alive) AS alive,
      (SELECT count(*) FROM picked) AS picked, c.*, m.body
    FROM wanted AS w
    LEFT JOIN LATERAL (
      SELECT d.due_at FROM $.delivery AS d
      WHERE d.source = $1 AND d.destination = w.destination AND d.worker IS NULL AND d.due_at > $7::bigint
      ORDER BY d.due_at, d.id LIMIT 1) AS n ON true
    LEFT JOIN claimed AS c ON c.destination = w.destination
    LEFT JOIN $.message AS m ON m.source = c.source AND m.id = c.message AND m.day = c.message_day
    ORDER BY c.due_at, c.id`,
  );
}

/** The first due, of those that no worker has claimed, of each of these destinations: one question for all. */
export function peekSql(names: Names): string {
  return inSchema(
    names,
    `SELECT w.destination, d.due_at FROM unnest($1::text[], $2::text[]) AS w (source, destination)
     CROSS JOIN LATERAL (
       SELECT d.due_at FROM $.delivery AS d WHERE d.source = w.source AND d.destination = w.destination AND d.worker IS NULL
       ORDER BY d.due_at, d.id LIMIT 1) AS d`,
  );
}
