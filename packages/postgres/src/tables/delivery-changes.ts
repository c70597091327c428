import type { DeliveryProgress, NewMessageContent } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { decodeText, encodeOptional, encodeText } from "../database/text.ts";
import { dayOf, inSchema, type Names } from "../schema/names.ts";

/** A delivery that repeats another. */
export interface NextDelivery {
  readonly id: string;
  readonly acceptedAt: number;
  readonly message?: NewMessageContent | undefined;
}

const BOTH = `(SELECT source, id, destination, message, message_day, message_id, type, identity, event FROM $.delivery
  UNION ALL SELECT source, id, destination, message, message_day, message_id, type, identity, event FROM $.ended)`;

const SOURCES = "SELECT DISTINCT source FROM $.tally WHERE day = -1";

/** What people change: they repeat, hasten and remove deliveries. */
export class DeliveryChanges {
  readonly #connections: Connections;
  readonly #names: Names;

  constructor(connections: Connections, names: Names) {
    this.#connections = connections;
    this.#names = names;
  }

  /** Stores a copy that is due now; resolves to its source and destination, undefined when there is no such delivery. */
  async repeat(
    id: string,
    { id: nextId, acceptedAt, message }: NextDelivery,
    writer: string,
  ): Promise<{ readonly source: string; readonly destination: string } | undefined> {
    const content = [
      message === undefined ? null : message.body,
      encodeOptional(message?.messageId),
      message?.type ?? null,
      encodeOptional(message?.identity),
      encodeOptional(message?.event),
      message !== undefined,
    ];
    const values = [encodeText(id), encodeText(nextId), acceptedAt, dayOf(acceptedAt), writer, ...content];
    const [row] = await this.#query<{ source: string; destination: string }>(REPEAT, values);
    return row && { source: decodeText(row.source), destination: decodeText(row.destination) };
  }

  /** Makes a waiting delivery due now; resolves to its destination, undefined when it is not waiting. */
  async hasten(id: string, source: string | undefined, now: number): Promise<string | undefined> {
    const values = [encodeText(id), source === undefined ? null : encodeText(source)];
    const [row] = await this.#query<{ source: string; progress: string }>(WAITING, values);
    if (row === undefined) return undefined;
    const progress = encodeText(JSON.stringify(withoutDelays(JSON.parse(row.progress) as DeliveryProgress)));
    const [hastened] = await this.#query<{ destination: string }>(HASTEN, [
      row.source,
      values[0],
      now,
      progress,
    ]);
    return hastened === undefined ? undefined : decodeText(hastened.destination);
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
    return this.#connections.query<Row>("work", { name: "", text: inSchema(this.#names, sql) }, values);
  }
}

/** What an endpoint has rejected stays rejected; when it wanted to be called again no longer counts. */
function withoutDelays(progress: DeliveryProgress): DeliveryProgress {
  const entries = Object.entries(progress).map(
    ([url, { rejected }]) => [url, rejected ? { rejected } : {}] as const,
  );
  return Object.fromEntries(entries);
}

const WAITING = `SELECT source, progress FROM $.delivery
  WHERE source IN (SELECT $2::text WHERE $2::text IS NOT NULL UNION ALL ${SOURCES} AND $2::text IS NULL)
    AND id = $1 AND worker IS NULL`;

const HASTEN = `UPDATE $.delivery SET due_at = $3::bigint, progress = $4
  WHERE source = $1 AND id = $2 AND worker IS NULL RETURNING destination`;

const REPEAT = `WITH original AS (
    SELECT * FROM ${BOTH} AS d WHERE id = $1 AND source IN (${SOURCES}) LIMIT 1),
  copied AS (
    INSERT INTO $.message (source, id, day, body)
    SELECT o.source, $2, $4::int, coalesce($6::bytea,
      (SELECT m.body FROM $.message AS m WHERE m.source = o.source AND m.id = o.message AND m.day = o.message_day))
    FROM original AS o ON CONFLICT DO NOTHING RETURNING id),
  made AS (
    INSERT INTO $.delivery (source, id, destination, message, message_day, message_id, type, identity, event, accepted_at, due_at, resend_of)
    SELECT o.source, $2, o.destination, $2, $4::int, coalesce($7, o.message_id), coalesce($8, o.type), coalesce($9, o.identity),
      CASE WHEN $11::boolean THEN $10 ELSE o.event END, $3::bigint, $3::bigint, $1
    FROM original AS o JOIN copied ON true RETURNING source, destination),
  tallied AS (
    INSERT INTO $.tally AS t (source, destination, day, writer, pending) SELECT source, destination, -1, $5, 1 FROM made
    ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + 1)
  SELECT source, destination FROM original`;

/** The body of a message goes when no other delivery sends it. */
const REMOVE = `WITH gone AS (
    DELETE FROM $.ended AS e USING unnest($2::text[], $3::int[]) AS g (id, day)
    WHERE e.source = $1 AND e.id = g.id AND e.day = g.day
    RETURNING e.source, e.id, e.destination, e.state, e.day, e.message, e.message_day, e.message_id),
  attempts AS (DELETE FROM $.attempt AS a USING gone AS g WHERE a.source = g.source AND a.delivery = g.id),
  bodies AS (
    DELETE FROM $.message AS m USING gone AS g
    WHERE m.source = g.source AND m.id = g.message AND m.day = g.message_day
      AND NOT EXISTS (SELECT FROM $.delivery AS d WHERE d.message_id = g.message_id AND d.source = g.source AND d.message = g.message)
      AND NOT EXISTS (SELECT FROM $.ended AS e WHERE e.message_id = g.message_id AND e.source = g.source AND e.message = g.message
        AND NOT (e.id = ANY ($2::text[])))),
  tallied AS (
    INSERT INTO $.tally AS t (source, destination, day, writer, delivered, failed, expired)
    SELECT source, destination, day, $4, -count(*) FILTER (WHERE state = 'delivered'), -count(*) FILTER (WHERE state = 'failed'),
      -count(*) FILTER (WHERE state = 'expired') FROM gone GROUP BY source, destination, day
    ON CONFLICT (source, destination, day, writer) DO UPDATE SET delivered = t.delivered + excluded.delivered,
      failed = t.failed + excluded.failed, expired = t.expired + excluded.expired)
  SELECT count(*) AS count FROM gone`;
