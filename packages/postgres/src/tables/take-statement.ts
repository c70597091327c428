import type { StoredDelivery } from "@countersign/sender/store";
import type { Element } from "../database/binary-array.ts";
import { Columns } from "../database/columns.ts";
import { encodeOptional, encodeText } from "../database/text.ts";
import { dayOf, inSchema, type Names } from "../schema/names.ts";
import { type ColumnTypes, rowsOf } from "./rows-of.ts";
import { roundOf } from "./settle-statement.ts";

/** Columns of bodies, in the order of their parameters. */
const BODIES: ColumnTypes = { id: "text", day: "integer", body: "bytea" };

/** Columns that pending and ended deliveries have, in the order of their parameters. */
const SHARED: ColumnTypes = {
  id: "text",
  destination: "text",
  message: "text",
  message_day: "integer",
  message_id: "text",
  type: "text",
  identity: "text",
  event: "text",
  accepted_at: "bigint",
  rounds: "integer",
  attempts: "integer",
  resend_of: "text",
  last: "text",
  last_outcome: "text",
  last_status: "integer",
  last_endpoint: "text",
  log: "text",
};
const PENDING: ColumnTypes = {
  ...SHARED,
  due_at: "bigint",
  progress: "text",
  logged_day: "integer",
  logged_at: "bigint",
};
const ENDED: ColumnTypes = { ...SHARED, day: "integer", state: "text", ended_at: "bigint" };

const IDENTITY = `id, destination, message, message_day, message_id, type, identity, event, accepted_at,
        rounds, attempts, resend_of, last, last_outcome, last_status, last_endpoint`;

const NEW_MESSAGE = `new_message AS (
      INSERT INTO $.message (source, id, day, body) SELECT $1, id, day, body FROM ${rowsOf(BODIES, 3)} AS m
      ON CONFLICT DO NOTHING)`;

/** In the log of attempts, who has logged those that were made in another store. */
const TOKEN = "taken over";

/**
 * Which of some deliveries of one source wait here. It is asked before {@link takePendingSql}: that one would find neither row of a
 * delivery whose settlement is committed while it runs, and store it again.
 */
export function waitingSql(names: Names): string {
  return inSchema(
    names,
    "SELECT d.id FROM unnest($2::text[]) AS g (id) JOIN $.delivery AS d ON d.source = $1 AND d.id = g.id",
  );
}

/**
 * Stores pending deliveries of one source that another store has kept, and answers the destinations of those that it did not know.
 * One that has ended meanwhile is known, too. None of them waited here: see {@link waitingSql}.
 */
export function takePendingSql(names: Names): string {
  return inSchema(
    names,
    `WITH given AS (
      SELECT * FROM ${rowsOf(PENDING, 6)} AS d
      WHERE NOT EXISTS (SELECT FROM $.ended AS e WHERE e.source = $1 AND e.id = d.id)),
    ${NEW_MESSAGE},
    new_delivery AS (
      INSERT INTO $.delivery (source, ${IDENTITY}, due_at, progress)
      SELECT $1, ${IDENTITY}, due_at, progress FROM given ON CONFLICT DO NOTHING RETURNING id, destination),
    logged AS (
      INSERT INTO $.attempt (source, delivery, token, day, logged_at, log)
      SELECT $1, g.id, '${TOKEN}', g.logged_day, g.logged_at, g.log FROM given AS g JOIN new_delivery AS d ON d.id = g.id
      WHERE g.log <> '[]' ON CONFLICT DO NOTHING),
    tallied AS (
      INSERT INTO $.tally AS t (source, destination, day, writer, pending)
      SELECT $1, destination, -1, $2, count(*) FROM new_delivery GROUP BY destination ORDER BY destination
      ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending)
    SELECT DISTINCT destination FROM new_delivery`,
  );
}

/**
 * Stores ended deliveries of one source that another store has kept. One that waits here was taken while it was pending, and has ended
 * there since then: it waits no more, unless a worker sends it now, whose outcome counts then.
 */
export function takeEndedSql(names: Names): string {
  return inSchema(
    names,
    `WITH given AS (SELECT * FROM ${rowsOf(ENDED, 6)} AS d),
    ${NEW_MESSAGE},
    gone AS (
      DELETE FROM $.delivery AS d USING given AS g WHERE d.source = $1 AND d.id = g.id AND d.worker IS NULL
      RETURNING d.id, d.destination),
    unlogged AS (DELETE FROM $.attempt AS a USING gone AS g WHERE a.source = $1 AND a.delivery = g.id),
    new_ended AS (
      INSERT INTO $.ended (source, ${IDENTITY}, log, day, state, ended_at)
      SELECT $1, ${IDENTITY}, log, day, state, ended_at FROM given AS g
      WHERE NOT EXISTS (SELECT FROM $.delivery AS d WHERE d.source = $1 AND d.id = g.id) OR id IN (SELECT id FROM gone)
      ON CONFLICT DO NOTHING RETURNING destination, day, state)
    INSERT INTO $.tally AS t (source, destination, day, writer, pending, delivered, failed, expired)
    SELECT $1, destination, day, $2, -count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'delivered'),
      count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'expired')
    FROM (SELECT destination, -1 AS day, 'pending' AS state FROM gone UNION ALL SELECT destination, day, state FROM new_ended) AS e
    GROUP BY destination, day ORDER BY destination, day
    ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending,
      delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed, expired = t.expired + excluded.expired`,
  );
}

/**
 * The values of {@link takePendingSql} or {@link takeEndedSql}.
 *
 * @param now - In milliseconds since 1970.
 */
export function takeValues(
  source: string,
  writer: string,
  deliveries: readonly StoredDelivery[],
  now: number,
): readonly unknown[] {
  const isPending = deliveries[0]?.state === "pending";
  const bodies = new Columns(Object.values(BODIES), deliveries.length);
  const rows = new Columns(Object.values(isPending ? PENDING : ENDED), deliveries.length);
  const added = new Set<string>();
  for (const delivery of deliveries) {
    const { bodyId, body, state, acceptedAt, dueAt = acceptedAt, endedAt = now, progress } = delivery;
    const day = dayOfBody(delivery);
    if (!added.has(`${day} ${bodyId}`)) bodies.add([encodeText(bodyId), day, body]);
    added.add(`${day} ${bodyId}`);
    const special = isPending
      ? [dueAt, encodeText(JSON.stringify(progress)), dayOf(now), now]
      : [dayOf(endedAt), state, endedAt];
    rows.add([...sharedOf(delivery, day), ...special]);
  }
  return [encodeText(source), writer, ...bodies.values(), ...rows.values()];
}

/** The days that rows of these deliveries fall on. */
export function daysOfTaken(deliveries: readonly StoredDelivery[], now: number): ReadonlySet<number> {
  return new Set(deliveries.flatMap((delivery) => [dayOfBody(delivery), dayOf(delivery.endedAt ?? now)]));
}

/** A body is kept as long as those of its day: that of the end, where it came too late for the day of the call. */
function dayOfBody({ acceptedAt, endedAt = acceptedAt }: StoredDelivery): number {
  return dayOf(endedAt) > dayOf(acceptedAt) + 1 ? dayOf(endedAt) : dayOf(acceptedAt);
}

function sharedOf(delivery: StoredDelivery, messageDay: number): readonly Element[] {
  const { id, destination, bodyId, messageId, type, identity, event, acceptedAt } = delivery;
  const { rounds, attemptsMade, resendOf } = delivery;
  const [, ...last] = roundOf(delivery);
  return [
    encodeText(id),
    encodeText(destination),
    encodeText(bodyId),
    messageDay,
    encodeText(messageId),
    type,
    encodeText(identity),
    encodeOptional(event),
    acceptedAt,
    rounds,
    attemptsMade,
    encodeOptional(resendOf),
    ...last,
  ];
}
