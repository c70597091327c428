import {
  DELIVERY_STATES,
  type DeliveryCounts,
  type DeliveryFilter,
  valuesOf,
} from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { decodeText } from "../database/text.ts";
import { inSchema, type Names } from "../schema/names.ts";
import { conditionsOf, Values } from "./filter-sql.ts";

/** The fields of a filter that deliveries are counted by. */
const COUNTED_BY: ReadonlySet<string> = new Set(["source", "destination", "state"]);

interface CountRow {
  readonly destination: string;
  readonly pending: number;
  readonly delivered: number;
  readonly failed: number;
  readonly expired: number;
  readonly oldest: number | null;
  readonly next_due: number | null;
}

/** Each worker counts in rows of its own, with the change that it counts; the sum is exact, whatever the number of rows. */
const COUNTS = `WITH claimed AS MATERIALIZED (
    SELECT destination, min(due_at) AS due_at, min(accepted_at) AS accepted_at FROM $.delivery WHERE worker IS NOT NULL GROUP BY destination)
  SELECT t.*, least(c.accepted_at, (SELECT d.accepted_at FROM $.delivery AS d WHERE d.destination = t.destination AND d.worker IS NULL
      ORDER BY d.accepted_at, d.id LIMIT 1)) AS oldest,
    least(c.due_at, (SELECT d.due_at FROM $.delivery AS d WHERE d.destination = t.destination AND d.worker IS NULL
      ORDER BY d.due_at, d.id LIMIT 1)) AS next_due
  FROM (SELECT destination, sum(pending)::bigint AS pending, sum(delivered)::bigint AS delivered, sum(failed)::bigint AS failed,
      sum(expired)::bigint AS expired FROM $.tally GROUP BY destination) AS t
    LEFT JOIN claimed AS c ON c.destination = t.destination`;

export async function readCounts(
  connections: Connections,
  names: Names,
): Promise<ReadonlyMap<string, DeliveryCounts>> {
  const statement = keptStatement("counts", inSchema(names, COUNTS));
  const rows = await connections.query<CountRow>("read", statement);
  return new Map(rows.map((row) => [decodeText(row.destination), countsOf(row)]));
}

/**
 * How many deliveries match a filter that asks for nothing else than what is counted as it changes; undefined for any other.
 * Counting the rows of a million takes a tenth of a second, and those of a week longer than an answer may.
 */
export async function countKept(
  connections: Connections,
  names: Names,
  filter: DeliveryFilter,
): Promise<number | undefined> {
  if (Object.entries(filter).some(([field, wanted]) => wanted !== undefined && !COUNTED_BY.has(field)))
    return undefined;
  const { state, ...places } = filter;
  const wanted: readonly string[] = state === undefined ? DELIVERY_STATES : valuesOf(state);
  const counted = DELIVERY_STATES.filter((one) => wanted.includes(one)).join(" + ") || "0";
  const values = new Values();
  const where = ["true", ...conditionsOf(places, values).all].join(" AND ");
  const text = inSchema(
    names,
    `SELECT coalesce(sum(${counted}), 0)::bigint AS count FROM $.tally WHERE ${where}`,
  );
  const [row] = await connections.query<{ count: number }>("read", { text }, values.list);
  return row?.count ?? 0;
}

function countsOf({
  pending,
  delivered,
  failed,
  expired,
  oldest,
  next_due: nextDue,
}: CountRow): DeliveryCounts {
  return {
    pending,
    delivered,
    failed,
    expired,
    ...(oldest !== null && { oldestPendingAt: oldest }),
    ...(nextDue !== null && { nextDueAt: nextDue }),
  };
}

export async function readUsage(
  connections: Connections,
  names: Names,
): Promise<ReadonlyMap<string, number>> {
  const sql = "SELECT source, sum(calls)::bigint AS calls FROM $.usage GROUP BY source";
  const statement = keptStatement("usage", inSchema(names, sql));
  const rows = await connections.query<{ source: string; calls: number }>("read", statement);
  return new Map(rows.map(({ source, calls }) => [decodeText(source), calls]));
}
