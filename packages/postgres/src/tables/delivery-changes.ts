import { hastenedProgress, type NextDelivery } from "@countersign/sender/store";
import type { Element } from "../database/binary-array.ts";
import { Columns } from "../database/columns.ts";
import type { Connections } from "../database/connections.ts";
import { decodeText, encodeOptional, encodeText } from "../database/text.ts";
import { dayOf, inSchema, type Names } from "../schema/names.ts";
import { progressOf } from "./delivery-rows.ts";
import { SOURCES } from "./filter-sql.ts";
import { type ColumnTypes, unnestOf } from "./rows-of.ts";

/** Which delivery is repeated, and as which. */
export interface Repetition {
  readonly id: string;
  readonly next: NextDelivery;
  /** Of the original. */
  readonly source: string;
}

/** What a delivery that is repeated is for, and whether this command has stored the copy. */
export interface RepeatedFrom {
  readonly destination: string;
  /** False when a delivery had the id of the copy. */
  readonly stored: boolean;
}

const BOTH = `(SELECT source, id, destination, message, message_day, message_id, type, identity, event FROM $.delivery
  UNION ALL SELECT source, id, destination, message, message_day, message_id, type, identity, event FROM $.ended)`;

/** What people change: they repeat, hasten and remove deliveries. */
export class DeliveryChanges {
  readonly #connections: Connections;
  readonly #names: Names;

  constructor(connections: Connections, names: Names) {
    this.#connections = connections;
    this.#names = names;
  }

  /**
   * Stores copies that are due now, each with an id of its own, with one command; resolves to what became of each, undefined
   * where there is no original.
   */
  async repeat(
    repetitions: readonly Repetition[],
    writer: string,
  ): Promise<readonly (RepeatedFrom | undefined)[]> {
    const columns = new Columns(Object.values(ASKED), repetitions.length);
    for (const repetition of repetitions) columns.add(rowOf(repetition));
    const values = [writer, ...columns.values()];
    const rows = await this.#query<RepeatedFrom & { next: string }>(REPEAT, values);
    const found = new Map(rows.map((row) => [decodeText(row.next), row]));
    return repetitions.map(({ next }) => {
      const row = found.get(next.id);
      return row && { stored: row.stored, destination: decodeText(row.destination) };
    });
  }

  /** Makes a waiting delivery due now, or leaves it its place if it is due already; resolves to its destination, undefined when it is not waiting. */
  async hasten(id: string, source: string, now: number): Promise<string | undefined> {
    const key = [encodeText(source), encodeText(id)];
    for (;;) {
      const [row] = await this.#query<{ progress: string }>(WAITING, key);
      if (row === undefined) return undefined;
      const given = [...key, now, hastenedColumn(row), row.progress];
      const [hastened] = await this.#query<{ destination: string }>(HASTEN, given);
      if (hastened !== undefined) return decodeText(hastened.destination);
    }
  }

  /**
   * Makes those of these deliveries due at a time that are due later than that and than now; resolves to the destination of each.
   */
  async hastenAll(
    source: string,
    ids: readonly string[],
    dueAt: number,
    now: () => number,
  ): Promise<readonly string[]> {
    const given = [encodeText(source), ids.map(encodeText)];
    const rows = await this.#query<{ id: string; progress: string; due_at: number }>(WAITING_FOR, given);
    // The time after the answer: what somebody else had made due by then is due, though they have begun later.
    const latest = Math.max(dueAt, now());
    const waiting = rows.filter((row) => row.due_at > latest);
    if (waiting.length === 0) return [];
    const values = [
      encodeText(source),
      waiting.map(({ id }) => id),
      dueAt,
      waiting.map(hastenedColumn),
      waiting.map(({ progress }) => progress),
      waiting.map((row) => row.due_at),
    ];
    const hastened = await this.#query<{ destination: string }>(HASTEN_ALL, values);
    return hastened.map(({ destination }) => decodeText(destination));
  }

  /** Removes these ended deliveries with all that belongs to them; returns how many there were. */
  async remove(
    source: string,
    rows: readonly { readonly id: string; readonly day: number }[],
    writer: string,
  ): Promise<number> {
    const values = [source, rows.map(({ id }) => id), rows.map(({ day }) => day), writer];
    const [gone] = await this.#query<{ count: number }>(REMOVE, values);
    return gone?.count ?? 0;
  }

  #query<Row>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#connections.query<Row>("work", { text: inSchema(this.#names, sql) }, values);
  }
}

/** The column of a delivery that is hastened, from the one that it has. */
function hastenedColumn(row: { readonly progress: string }): string {
  return encodeText(JSON.stringify(hastenedProgress(progressOf(row))));
}

const WAITING = `SELECT progress FROM $.delivery WHERE source = $1 AND id = $2 AND worker IS NULL`;

/** Only what was read is replaced: a round that has ended since may say that an endpoint rejected, which must not be lost. */
const HASTEN = `UPDATE $.delivery SET due_at = least(due_at, $3::bigint), progress = $4
  WHERE source = $1 AND id = $2 AND worker IS NULL AND progress = $5 RETURNING destination`;

const WAITING_FOR = `SELECT id, progress, due_at FROM $.delivery
  WHERE source = $1 AND id = ANY ($2::text[]) AND (worker IS NULL) IS TRUE`;

/**
 * The same for many deliveries. A delivery that another command has locked is about to be tried, was just tried, or is being
 * hastened there. It is left out, so that no two commands wait for each other.
 *
 * IS TRUE at the end of a condition keeps the planner from using an index for it.
 */
const HASTEN_ALL = `WITH picked AS (
    SELECT p.place, g.progress FROM unnest($2::text[], $4::text[], $5::text[], $6::bigint[]) AS g (id, progress, known, known_due)
    CROSS JOIN LATERAL (
      SELECT d.ctid AS place FROM $.delivery AS d
      WHERE d.source = $1 AND d.id = g.id AND (d.worker IS NULL AND d.due_at = g.known_due AND d.progress = g.known) IS TRUE
      FOR UPDATE SKIP LOCKED) AS p)
  UPDATE $.delivery AS d SET due_at = $3::bigint, progress = p.progress FROM picked AS p
  WHERE d.ctid = p.place AND (d.worker IS NULL) IS TRUE RETURNING d.destination`;

/** Columns of a copy, in the order of their parameters. */
const ASKED: ColumnTypes = {
  of: "text",
  of_source: "text",
  next: "text",
  at: "bigint",
  on_day: "integer",
  new_body: "bytea",
  new_message_id: "text",
  new_type: "text",
  new_identity: "text",
  new_event: "text",
  changed: "bool",
};

/** The values of {@link ASKED}. */
function rowOf({ id, source, next: { id: nextId, acceptedAt, message } }: Repetition): readonly Element[] {
  return [
    encodeText(id),
    encodeText(source),
    encodeText(nextId),
    acceptedAt,
    dayOf(acceptedAt),
    message?.body ?? null,
    encodeOptional(message?.messageId),
    message?.type ?? null,
    encodeOptional(message?.identity),
    encodeOptional(message?.event),
    message !== undefined,
  ];
}

const BODY =
  "(SELECT m.body FROM $.message AS m WHERE m.source = o.source AND m.id = o.message AND m.day = o.message_day)";

/**
 * The keys of the tables do not tell of other days and of other sources, so whether the id of a copy is taken is looked up. What has no body
 * any more is not kept.
 */
const REPEAT = `WITH asked AS (
    SELECT DISTINCT ON (next) * FROM ${unnestOf(ASKED, 2, "a")}),
  original AS (
    SELECT a.*, o.*, t.id AS taken FROM asked AS a CROSS JOIN LATERAL (
      SELECT * FROM ${BOTH} AS d WHERE d.source = a.of_source AND d.id = a.of LIMIT 1) AS o
    LEFT JOIN LATERAL (
      SELECT d.id FROM ${BOTH} AS d WHERE d.id = a.next AND d.source IN (${SOURCES}) LIMIT 1) AS t ON true
    WHERE a.new_body IS NOT NULL OR EXISTS ${BODY}),
  copied AS (
    INSERT INTO $.message (source, id, day, body)
    SELECT o.source, o.next, o.on_day, coalesce(o.new_body, ${BODY})
    FROM original AS o WHERE o.taken IS NULL ON CONFLICT DO NOTHING RETURNING source, id),
  made AS (
    INSERT INTO $.delivery (source, id, destination, message, message_day, message_id, type, identity, event, accepted_at, due_at, resend_of)
    SELECT o.source, o.next, o.destination, o.next, o.on_day, coalesce(o.new_message_id, o.message_id), coalesce(o.new_type, o.type),
      coalesce(o.new_identity, o.identity), CASE WHEN o.changed THEN o.new_event ELSE o.event END, o.at, o.at, o.of
    FROM original AS o JOIN copied AS c ON c.source = o.source AND c.id = o.next RETURNING source, id, destination),
  tallied AS (
    INSERT INTO $.tally AS t (source, destination, day, writer, pending)
    SELECT source, destination, -1, $1, count(*) FROM made GROUP BY source, destination ORDER BY source, destination
    ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending)
  SELECT o.next, o.destination, m.id IS NOT NULL AS stored
  FROM original AS o LEFT JOIN made AS m ON m.source = o.source AND m.id = o.next`;

/** The body of a message goes when no other delivery sends it. */
const REMOVE = `WITH gone AS (
    DELETE FROM $.ended AS e USING unnest($2::text[], $3::int[]) AS g (id, day)
    WHERE e.source = $1 AND e.id = g.id AND e.day = g.day
    RETURNING e.source, e.id, e.destination, e.state, e.day, e.message, e.message_day, e.message_id),
  attempts AS (DELETE FROM $.attempt AS a USING gone AS g WHERE a.source = g.source AND a.delivery = g.id),
  bodies AS (
    DELETE FROM $.message AS m USING gone AS g
    WHERE m.source = g.source AND m.id = g.message AND m.day = g.message_day
      AND NOT EXISTS (SELECT FROM $.delivery AS d WHERE d.message_id = g.message_id AND d.source = g.source AND d.message = g.message
        AND d.worker IS NULL)
      AND NOT EXISTS (SELECT FROM $.delivery AS d WHERE d.worker IS NOT NULL AND d.source = g.source AND d.message = g.message)
      AND NOT EXISTS (SELECT FROM $.ended AS e WHERE e.message_id = g.message_id AND e.source = g.source AND e.message = g.message
        AND NOT (e.id = ANY ($2::text[])))),
  tallied AS (
    INSERT INTO $.tally AS t (source, destination, day, writer, delivered, failed, expired)
    SELECT source, destination, day, $4, -count(*) FILTER (WHERE state = 'delivered'), -count(*) FILTER (WHERE state = 'failed'),
      -count(*) FILTER (WHERE state = 'expired') FROM gone GROUP BY source, destination, day ORDER BY source, destination, day
    ON CONFLICT (source, destination, day, writer) DO UPDATE SET delivered = t.delivered + excluded.delivered,
      failed = t.failed + excluded.failed, expired = t.expired + excluded.expired)
  SELECT count(*) AS count FROM gone`;
