import type { ElementType } from "../database/binary-array.ts";
import { dayOfColumn, inSchema, type Names } from "../schema/names.ts";
import { HELD_ARRAYS, NEW_COLUMNS, STORED_COLUMNS } from "../schema/held-deliveries.ts";
import { type ColumnTypes, rowsOf, unnestOf } from "./rows-of.ts";

/** What the statement answers: only what is out of the ordinary, since answers are read one character after another. */
export interface AcceptRow {
  /** Keys of calls that are repeats. */
  readonly repeats?: readonly string[] | null;
  /** Ids of the deliveries that were left out. */
  readonly missing?: readonly string[] | null;
  /** Whether those that were to be held, and were stored, are held: the worker's epoch is not over. */
  readonly alive: boolean;
}

/** Columns of what both statements take, in the order of their parameters. */
export const GIVEN: Readonly<Record<"messages" | "deliveries" | "held" | "skipped", ColumnTypes>> = {
  messages: { id: "text", day: "integer", body: "bytea" },
  deliveries: NEW_COLUMNS,
  held: NEW_COLUMNS,
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

const HELD_COLUMNS = `source, worker, claim, ended, ${Object.values(HELD_ARRAYS).join(", ")}`;
const HELD_VALUES = Object.values(NEW_COLUMNS)
  .map((type, index) => `$${16 + index}::${type}[]`)
  .join(", ");

const INSERT_DELIVERY = `INSERT INTO $.delivery (${STORED_COLUMNS})`;
const STORED_VALUES = `$1, d.id, d.message, d.destination, d.message_id, d.type, d.identity, d.event, d.accepted_at,
        ${dayOfColumn("d.accepted_at")}, d.accepted_at`;

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
    held AS (
      INSERT INTO $.held (${HELD_COLUMNS})
      SELECT $1, a.id, $4::bigint, repeat('0', cardinality($16::text[]))::bit varying, ${HELD_VALUES} FROM alive AS a
      WHERE cardinality($16::text[]) > 0),
    new_delivery AS (
      ${INSERT_DELIVERY}
      SELECT ${STORED_VALUES} FROM ${rowsOf(GIVEN.deliveries, 8)} AS d
      UNION ALL SELECT ${STORED_VALUES} FROM ${rowsOf(GIVEN.held, 16)} AS d WHERE NOT EXISTS (SELECT FROM alive)),
    new_skipped AS (
      ${NEW_SKIPPED} ${rowsOf(GIVEN.skipped, 24)} AS k),
    counted AS (
      INSERT INTO $.usage AS u (source, writer, calls) SELECT $1, $2, $31::bigint WHERE $31::bigint > 0 ${COUNTED}),
    tallied AS (
      ${TALLY} unnest($10::text[] || $18::text[]) AS d (destination) ${TALLIED})
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
    given AS (SELECT * FROM unnest($32::text[], $33::text[], $34::bigint[]) AS g (key, call, at)),
    fresh AS (
      INSERT INTO $.seen AS s (source, key, call, at) SELECT $1, key, call, at FROM given ORDER BY key
      ON CONFLICT (source, key) DO UPDATE SET call = excluded.call, at = excluded.at
        WHERE s.call = excluded.call OR s.at <= excluded.at - $31::bigint
      RETURNING key),
    new_message AS (
      INSERT INTO $.message (source, id, day, body)
      SELECT $1, m.id, m.day, m.body FROM ${rowsOf(GIVEN.messages, 5, ", unnest($35::text[]) AS key")} AS m
      WHERE m.key IS NULL OR m.key IN (SELECT key FROM fresh)
      ON CONFLICT DO NOTHING RETURNING id),
    to_hold AS (
      SELECT d.*, d.message IN (SELECT id FROM new_message) AS is_new FROM ${unnestOf(GIVEN.held, 16, "d", "position")}),
    held AS (
      INSERT INTO $.held (${HELD_COLUMNS})
      SELECT $1, a.id, $4::bigint, h.ended::bit varying, ${HELD_VALUES} FROM alive AS a,
        (SELECT string_agg(CASE WHEN is_new THEN '0' ELSE '1' END, '' ORDER BY position) AS ended FROM to_hold) AS h
      WHERE h.ended LIKE '%0%'),
    new_delivery AS (
      ${INSERT_DELIVERY}
      SELECT ${STORED_VALUES} FROM ${rowsOf(GIVEN.deliveries, 8)} AS d WHERE (d.message IN (SELECT id FROM new_message)) IS TRUE
      UNION ALL SELECT ${STORED_VALUES} FROM to_hold AS d WHERE d.is_new AND NOT EXISTS (SELECT FROM alive)
      RETURNING id, destination),
    stored AS (
      SELECT id, destination FROM new_delivery
      UNION ALL SELECT id, destination FROM to_hold WHERE is_new AND EXISTS (SELECT FROM alive)),
    new_skipped AS (
      ${NEW_SKIPPED} ${rowsOf(GIVEN.skipped, 24, ", unnest($36::text[]) AS key")} AS k
      WHERE k.key IS NULL OR k.key IN (SELECT key FROM fresh)
      ON CONFLICT DO NOTHING RETURNING id),
    counted AS (
      INSERT INTO $.usage AS u (source, writer, calls)
      SELECT $1, $2, count(*) FROM unnest($37::text[], $38::text[]) AS c (ref, key)
      WHERE (c.key IS NULL OR c.key IN (SELECT key FROM fresh))
        AND (c.ref IS NULL OR c.ref IN (SELECT id FROM new_message UNION ALL SELECT id FROM new_skipped))
      HAVING count(*) > 0 ${COUNTED}),
    tallied AS (
      ${TALLY} stored ${TALLIED})
    SELECT (SELECT array_agg(key) FROM given WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM fresh)) AS repeats,
      (SELECT array_agg(id) FROM unnest($8::text[] || $16::text[]) AS d (id) WHERE id NOT IN (SELECT id FROM stored)) AS missing,
      EXISTS (SELECT FROM alive) AS alive`,
  );
}
