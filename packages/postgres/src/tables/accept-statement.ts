import type { ElementType } from "../database/binary-array.ts";
import { dayOfColumn, inSchema, type Names } from "../schema/names.ts";
import { type ColumnTypes, rowsOf } from "./rows-of.ts";

/** What the statement answers: only what is out of the ordinary, since answers are read one character after another. */
export interface AcceptRow {
  /** Keys of calls that are repeats, as JSON. */
  readonly repeats?: string | null;
  /** Ids of the deliveries that were left out, as JSON. */
  readonly missing?: string | null;
  /** Whether those that were to be claimed, and were stored, are claimed: the worker's epoch is not over. */
  readonly alive: boolean;
}

/** Columns of what both statements take, in the order of their parameters. */
export const GIVEN: Readonly<Record<"messages" | "deliveries" | "skipped", ColumnTypes>> = {
  messages: { id: "text", day: "integer", body: "bytea" },
  deliveries: {
    id: "text",
    message: "text",
    destination: "text",
    message_id: "text",
    type: "text",
    identity: "text",
    event: "text",
    accepted_at: "bigint",
    claims: "bool",
  },
  skipped: {
    id: "text",
    message_id: "text",
    type: "text",
    identity: "text",
    event: "text",
    accepted_at: "bigint",
    reason: "text",
  },
};

/** Columns that tell what is a repeat, in the order of their parameters: of keys, messages, skipped and counted calls. */
export const REPEATS: Readonly<Record<"keys" | "messages" | "skipped" | "counted", readonly ElementType[]>> =
  {
    keys: ["text", "text", "bigint"],
    messages: ["text"],
    skipped: ["text"],
    counted: ["text", "text"],
  };

const ALIVE = `alive AS (SELECT id FROM $.worker WHERE id = $2 AND epoch = $3 FOR KEY SHARE)`;

const NEW_DELIVERY = `INSERT INTO $.delivery (source, id, message, destination, message_id, type, identity, event, accepted_at, message_day, due_at, worker, claim)
      SELECT $1, d.id, d.message, d.destination, d.message_id, d.type, d.identity, d.event, d.accepted_at,
        ${dayOfColumn("d.accepted_at")}, d.accepted_at, CASE WHEN d.claims THEN a.id END, CASE WHEN d.claims AND a.id IS NOT NULL THEN $4::bigint END
      FROM ${rowsOf(GIVEN.deliveries, 8)} AS d LEFT JOIN alive AS a ON true`;

const NEW_SKIPPED = `INSERT INTO $.skipped (source, id, message_id, type, identity, event, accepted_at, reason)
      SELECT $1, k.id, k.message_id, k.type, k.identity, k.event, k.accepted_at, k.reason FROM`;

const TALLY = `INSERT INTO $.tally AS t (source, destination, day, writer, pending)
      SELECT $1, destination, -1, $2, count(*) FROM`;
const TALLIED = `GROUP BY destination ORDER BY destination
      ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending`;

const COUNTED = `ON CONFLICT (source, writer) DO UPDATE SET calls = u.calls + excluded.calls`;

/**
 * Stores acceptances of one source, none of which may repeat anything: all of them, or none. It fails with a duplicate key
 * when something of it is stored already. To look for that in each row costs a fourth of the statement.
 */
export function acceptNewSql(names: Names): string {
  return inSchema(
    names,
    `WITH ${ALIVE},
    new_message AS (
      INSERT INTO $.message (source, id, day, body) SELECT $1, m.id, m.day, m.body FROM ${rowsOf(GIVEN.messages, 5)} AS m),
    new_delivery AS (
      ${NEW_DELIVERY}),
    new_skipped AS (
      ${NEW_SKIPPED} ${rowsOf(GIVEN.skipped, 17)} AS k),
    counted AS (
      INSERT INTO $.usage AS u (source, writer, calls) SELECT $1, $2, $24::bigint WHERE $24::bigint > 0 ${COUNTED}),
    tallied AS (
      ${TALLY} unnest($10::text[]) AS d (destination) ${TALLIED})
    SELECT EXISTS (SELECT FROM alive) AS alive`,
  );
}

/**
 * Stores acceptances of one source but what repeats something, as one statement: all of them, or none. To run it twice stores
 * them once: what has a message, or a skipped call, of the same id is there already.
 */
export function acceptSql(names: Names): string {
  return inSchema(
    names,
    `WITH ${ALIVE},
    given AS (SELECT * FROM unnest($25::text[], $26::text[], $27::bigint[]) AS g (key, call, at)),
    fresh AS (
      INSERT INTO $.seen AS s (source, key, call, at) SELECT $1, key, call, at FROM given ORDER BY key
      ON CONFLICT (source, key) DO UPDATE SET call = excluded.call, at = excluded.at
        WHERE s.call = excluded.call OR s.at <= excluded.at - $24::bigint
      RETURNING key),
    new_message AS (
      INSERT INTO $.message (source, id, day, body)
      SELECT $1, m.id, m.day, m.body FROM ${rowsOf(GIVEN.messages, 5, ", unnest($28::text[]) AS key")} AS m
      WHERE m.key IS NULL OR m.key IN (SELECT key FROM fresh)
      ON CONFLICT DO NOTHING RETURNING id),
    new_delivery AS (
      ${NEW_DELIVERY}
      WHERE d.message IS NULL OR d.message IN (SELECT id FROM new_message)
      RETURNING id, destination),
    new_skipped AS (
      ${NEW_SKIPPED} ${rowsOf(GIVEN.skipped, 17, ", unnest($29::text[]) AS key")} AS k
      WHERE k.key IS NULL OR k.key IN (SELECT key FROM fresh)
      ON CONFLICT DO NOTHING RETURNING id),
    counted AS (
      INSERT INTO $.usage AS u (source, writer, calls)
      SELECT $1, $2, count(*) FROM unnest($30::text[], $31::text[]) AS c (ref, key)
      WHERE (c.key IS NULL OR c.key IN (SELECT key FROM fresh))
        AND (c.ref IS NULL OR c.ref IN (SELECT id FROM new_message UNION ALL SELECT id FROM new_skipped))
      HAVING count(*) > 0 ${COUNTED}),
    tallied AS (
      ${TALLY} new_delivery ${TALLIED})
    SELECT (SELECT json_agg(key)::text FROM given WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM fresh)) AS repeats,
      (SELECT json_agg(id)::text FROM unnest($8::text[]) AS d (id) WHERE id NOT IN (SELECT id FROM new_delivery)) AS missing,
      EXISTS (SELECT FROM alive) AS alive`,
  );
}
