import { Columns } from "../database/columns.ts";
import type { Element, ElementType } from "../database/binary-array.ts";
import { encodeOptional, encodeText } from "../database/text.ts";
import { dayOfColumn, inSchema, type Names } from "../schema/names.ts";
import { NEW_COLUMNS, STORED_COLUMNS } from "../schema/held-deliveries.ts";
import type { HeldGroup, HeldPlace } from "./held-group.ts";
import { type ColumnTypes, rowsOf } from "./rows-of.ts";
import { carriedSql, dayOfEntry, ROUND, roundOf, type SettleEntry, TALLIED } from "./settle-statement.ts";

/** A settlement of a delivery that is held. */
export interface HeldEntry extends SettleEntry {
  readonly held: HeldPlace;
}

/** Of each delivery. */
const ABOUT: ColumnTypes = { ...NEW_COLUMNS, claim: "bigint", position: "integer", day: "integer", ...ROUND };
/** Columns of those that have ended, and of those that are to be tried again, in the order of their parameters. */
const ENDED: ColumnTypes = { ...ABOUT, state: "text", ended_at: "bigint" };
const POSTPONED: ColumnTypes = {
  ...ABOUT,
  due_at: "bigint",
  rounds: "integer",
  progress: "text",
  logged_at: "bigint",
};
/** Of a group: its claim, and a digit for each of its deliveries. */
const GROUP: readonly ElementType[] = ["bigint", "text"];

const ENDED_FROM = 5;
const POSTPONED_FROM = ENDED_FROM + Object.keys(ENDED).length;

/** Some columns of those that have ended: rows with all of them are large. */
function endedColumns(...names: string[]): string {
  const columns = Object.entries(ENDED).flatMap(([name, type], index) =>
    names.includes(name) ? [`unnest($${ENDED_FROM + index}::${type}[]) AS ${name}`] : [],
  );
  return `(SELECT ${columns.join(", ")})`;
}

/** A column of all. */
function given(name: string): string {
  const parameter = (columns: ColumnTypes, from: number): string =>
    `$${from + Object.keys(columns).indexOf(name)}::${ABOUT[name]}[]`;
  return `unnest(${parameter(ENDED, ENDED_FROM)} || ${parameter(POSTPONED, POSTPONED_FROM)}) AS ${name}`;
}

/** Asked once, and not of each row. */
const IS_OURS = "(SELECT is_ours FROM all_ours)";
const TOKEN = "$2 || ':' || s.claim";
const MESSAGE_DAY = dayOfColumn("s.accepted_at");

/**
 * Stores settlements of deliveries of one source that are held: all of them, or none. It stores none if one of them is refused,
 * and answers the ids of those that are: their group must still be this worker's, and must not say that they have ended.
 *
 * A delivery that has ended goes to the partition of its day, and one that is to be tried again becomes a row of its own. The
 * group goes with the last of them.
 *
 * @param carries - Whether one of them needs its body carried along: see `carriesBody`.
 */
export function settleHeldSql(names: Names, carries: boolean): string {
  const carried = `(SELECT $1 AS source, s.message, s.day, ${MESSAGE_DAY} AS message_day
      FROM ${endedColumns("message", "accepted_at", "day")} AS s WHERE ${IS_OURS})`;
  return inSchema(
    names,
    `WITH groups AS MATERIALIZED (
      SELECT g.claim, k.place, k.ended, k.ended | g.ended::bit varying AS next FROM unnest($3::bigint[], $4::text[]) AS g (claim, ended) CROSS JOIN LATERAL (
        SELECT h.ctid AS place, h.ended FROM $.held AS h WHERE h.source = $1 AND h.worker = $2 AND h.claim = g.claim FOR UPDATE) AS k),
    given AS MATERIALIZED (SELECT ${["id", "claim", "position"].map(given).join(", ")}),
    ours AS (SELECT s.id FROM given AS s JOIN groups AS g ON g.claim = s.claim WHERE get_bit(g.ended, s.position) = 0),
    all_ours AS MATERIALIZED (SELECT (SELECT count(*) FROM ours) = (SELECT count(*) FROM given) AS is_ours),
    ${carries ? carriedSql(carried) : ""}
    moved AS (
      INSERT INTO $.ended (source, id, destination, message, message_day, message_id, type, identity, event, accepted_at,
        rounds, attempts, last, last_outcome, last_status, last_endpoint, settled, day, state, ended_at, log)
      SELECT $1, id, destination, message, CASE WHEN day > ${MESSAGE_DAY} + 1 THEN day ELSE ${MESSAGE_DAY} END, message_id, type,
        identity, event, accepted_at, 1, attempts, last, outcome, status, endpoint, ${TOKEN}, day, state, ended_at, log
      FROM ${rowsOf(ENDED, ENDED_FROM)} AS s WHERE ${IS_OURS}),
    postponed AS (
      INSERT INTO $.delivery (${STORED_COLUMNS}, rounds, progress, attempts, last, last_outcome, last_status, last_endpoint, settled)
      SELECT $1, id, message, destination, message_id, type, identity, event, accepted_at, ${MESSAGE_DAY}, due_at,
        rounds, progress, attempts, last, outcome, status, endpoint, ${TOKEN}
      FROM ${rowsOf(POSTPONED, POSTPONED_FROM)} AS s WHERE ${IS_OURS}),
    logged AS (
      INSERT INTO $.attempt (source, delivery, token, day, logged_at, log)
      SELECT $1, id, ${TOKEN}, day, logged_at, log FROM ${rowsOf(POSTPONED, POSTPONED_FROM)} AS s
      WHERE attempts > 0 AND ${IS_OURS} ON CONFLICT DO NOTHING),
    over AS (DELETE FROM $.held AS h USING groups AS g WHERE h.ctid = g.place AND position(B'0' IN g.next) = 0 AND ${IS_OURS}),
    kept AS (
      UPDATE $.held AS h SET ended = g.next FROM groups AS g
      WHERE h.ctid = g.place AND position(B'0' IN g.next) > 0 AND ${IS_OURS}),
    gone AS (SELECT destination, day, state FROM ${endedColumns("destination", "day", "state")} AS s WHERE ${IS_OURS}),
    ${TALLIED}
    SELECT id FROM given WHERE NOT ${IS_OURS} AND id NOT IN (SELECT id FROM ours)`,
  );
}

/** The values of {@link settleHeldSql}. */
export function settleHeldValues(source: string, worker: string, entries: readonly HeldEntry[]): unknown[] {
  const ended = new Columns(Object.values(ENDED), entries.length);
  const postponed = new Columns(Object.values(POSTPONED), entries.length);
  const positions = new Map<HeldGroup, number[]>();
  for (const entry of entries) {
    const { held, settlement, now } = entry;
    // A clock may tell fractions of a millisecond.
    if (settlement.state === "pending") {
      const progress = encodeText(JSON.stringify(settlement.progress));
      postponed.add([...about(entry), Math.round(settlement.dueAt), settlement.rounds, progress, now]);
    } else {
      ended.add([...about(entry), settlement.state, Math.round(settlement.endedAt)]);
    }
    const own = positions.get(held.group) ?? [];
    positions.set(held.group, own);
    own.push(held.position);
  }
  const groups = new Columns(GROUP, positions.size);
  for (const [group, own] of positions) groups.add([group.claim, group.endedWith(own)]);
  return [encodeText(source), worker, ...[groups, ended, postponed].flatMap((columns) => columns.values())];
}

/** The values of {@link ABOUT}. */
function about(entry: HeldEntry): readonly Element[] {
  const { held, claim, settlement } = entry;
  const { id, destination, messageId, type, identity, event, acceptedAt } = entry.delivery;
  return [
    encodeText(id),
    held.message,
    encodeText(destination),
    encodeText(messageId),
    type,
    encodeText(identity),
    encodeOptional(event),
    acceptedAt,
    claim,
    held.position,
    dayOfEntry(entry),
    ...roundOf(settlement),
  ];
}
