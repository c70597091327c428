import { type Cursor, newestFirst, oldestFirst, parseCursor } from "../delivery/cursor.ts";
import {
  COMPARED_FIELDS,
  type DeliveryFilter,
  isWanted,
  LAST_ATTEMPT_FIELDS,
} from "../delivery/delivery-filter.ts";
import { type Bound, Conditions, storedValuesOf } from "./conditions.ts";
import type { ListOrder } from "../store/delivery-store.ts";
import { prefixEnd } from "../delivery/prefix-end.ts";
import { sourceOf } from "../store/source-of.ts";
import type { DeliveryCount } from "./delivery-counter.ts";
import type { Preparing } from "./prepared-once.ts";
import { type StoredText, textOf } from "./whole-text.ts";

/** Deliveries that an index has next to each other, by time. */
export interface Range {
  readonly index: string;
  readonly conditions: Conditions;
  /** What is to be checked of each row in it: so that no row is in two ranges. */
  readonly rest: Conditions;
}

/** How to find what matches a filter: ranges of an index, and what is left to be checked of each row in them. */
export interface SearchPlan {
  readonly ranges: readonly Range[];
  readonly rest: Conditions;
  readonly order: ListOrder;
  /** Rows before this place are not meant. */
  readonly start: Cursor;
  /** Rows after this time are not meant, in the order of the list. */
  readonly end: number | undefined;
  /** How many deliveries there are in the ranges, when it is known. */
  readonly size: number | undefined;
}

/** The column that each field of a filter is compared with. */
const COLUMNS = {
  state: "state",
  source: "source",
  destination: "destination",
  type: "type",
  messageId: "message_id",
  identity: "identity",
  event: "event",
  outcome: "outcome",
  status: "status",
  endpoint: "endpoint",
} as const;

type Field = keyof typeof COLUMNS;
const FIELDS: readonly Field[] = [...COMPARED_FIELDS, ...LAST_ATTEMPT_FIELDS];

/** Fields of which `delivery_by_kind` answers any combination. */
const KIND_FIELDS: readonly Field[] = ["state", "source", "destination", "type"];

/** Indexes of one column and the time; those with a condition do not have every value. */
const INDEXED: Partial<Record<Field, { readonly index: string; readonly has?: (value: Bound) => boolean }>> =
  {
    messageId: { index: "delivery_by_message_id" },
    identity: { index: "delivery_by_identity" },
    event: { index: "delivery_by_event" },
    outcome: { index: "delivery_by_outcome", has: (value) => value !== "success" },
    status: { index: "delivery_by_status", has: (value) => Number(value) >= 300 },
  };

/** SQLite uses an index with a condition only where the statement has the same. */
const INDEX_CONDITIONS: Readonly<Record<string, string>> = {
  delivery_by_outcome: "outcome <> 'success'",
  delivery_by_status: "status >= 300",
};

/** Beyond this, all the ranges of a field are taken to be equally large. */
const LARGE = 10_000;

/** The most ranges that are found by what the index has: beyond it, each row is asked. */
const MOST_RANGES = 500;

/** Chooses, of the indexes that could answer a filter, the one with the fewest rows to look at. */
export function planSearch(
  db: Preparing,
  filter: DeliveryFilter,
  kinds: readonly DeliveryCount[],
  order: ListOrder = "newest first",
): SearchPlan {
  const time = { order, start: startOf(filter, order), end: endOf(filter, order) };
  const { q } = filter;
  const byKind = kinds.filter((kind) => isKindWanted(kind, filter));
  const restBeside = (answered: readonly Field[]): Conditions =>
    q === undefined ? restOf(filter, answered) : searched(restOf(filter, answered), q);
  let fewest = byKind.reduce((sum, { count }) => sum + count, 0);
  const isWholeTime = filter.since === undefined && time.start.acceptedAt === END_OF_TIME;
  let best: SearchPlan = {
    ...time,
    ranges: byKind.map(rangeOfKind),
    rest: restBeside(KIND_FIELDS),
    size: isWholeTime ? fewest : undefined,
  };
  const consider = (find: () => readonly Range[] | undefined, rest: Conditions): void => {
    const ranges = fewest === 0 ? undefined : find();
    if (ranges === undefined) return;
    const rows = roughSizeOf(db, ranges, time, Math.min(fewest, LARGE));
    if (rows >= fewest) return;
    fewest = rows;
    best = { ...time, ranges, rest, size: undefined };
  };
  for (const field of FIELDS) {
    const wanted = filter[field];
    const indexed = INDEXED[field];
    if (wanted === undefined || indexed === undefined) continue;
    const values = storedValuesOf(wanted);
    if (indexed.has !== undefined && !values.every(indexed.has)) continue;
    consider(() => values.map((value) => rangeOf(field, indexed.index, value)), restBeside([field]));
  }
  if (LAST_ATTEMPT_FIELDS.some((field) => filter[field] !== undefined))
    consider(() => rangesOfEndpoints(db, filter), restBeside(["endpoint", "status"]));
  if (q !== undefined) consider(() => rangesOfSearch(db, q), restOf(filter, []));
  return best;
}

const END_OF_TIME = Number.MAX_SAFE_INTEGER;

/** The end of the time that is meant from which it is read, or the cursor where that comes after it. */
function startOf(
  { since = -END_OF_TIME, until = END_OF_TIME, after }: DeliveryFilter,
  order: ListOrder,
): Cursor {
  const [acceptedAt, compare] = order === "newest first" ? [until, newestFirst] : [since, oldestFirst];
  const edge: Cursor = { acceptedAt, id: "" };
  if (after === undefined) return edge;
  const cursor = parseCursor(after);
  return compare(cursor, edge) > 0 ? cursor : edge;
}

/** The other end of the time that is meant, with it. */
function endOf({ since, until }: DeliveryFilter, order: ListOrder): number | undefined {
  if (order === "newest first") return since;
  return until === undefined ? undefined : Math.ceil(until) - 1;
}

function restOf(filter: DeliveryFilter, answered: readonly Field[]): Conditions {
  const rest = new Conditions();
  for (const field of FIELDS) if (!answered.includes(field)) rest.any(`d.${COLUMNS[field]}`, filter[field]);
  return rest;
}

function rangeOf(field: Field, index: string, value: Bound): Range {
  const conditions = new Conditions().add(`d.${COLUMNS[field]} = ?`, value);
  const ofIndex = INDEX_CONDITIONS[index];
  if (ofIndex !== undefined) conditions.add(`d.${ofIndex}`);
  return { index, conditions, rest: new Conditions() };
}

function rangeOfKind({ destination, type, state }: DeliveryCount): Range {
  const sql = "d.destination = ? AND d.type = ? AND d.state = ?";
  const conditions = new Conditions().add(sql, destination, type, state);
  return { index: "delivery_by_kind", conditions, rest: new Conditions() };
}

function isKindWanted(kind: DeliveryCount, filter: DeliveryFilter): boolean {
  const { destination, type, state } = kind;
  return (
    isWanted(filter.state, state) &&
    isWanted(filter.destination, destination) &&
    isWanted(filter.type, type) &&
    isWanted(filter.source, sourceOf(destination))
  );
}

/**
 * What a last attempt can be found by: an endpoint and a status, of those that there are. `undefined`: there are too many. An attempt
 * without a response has no status.
 */
function rangesOfEndpoints(db: Preparing, filter: DeliveryFilter): readonly Range[] | undefined {
  const index = "delivery_by_endpoint";
  const endpoints =
    filter.endpoint === undefined ? valuesIn(db, index, "endpoint") : storedValuesOf(filter.endpoint);
  const ranges: Range[] = [];
  for (const endpoint of endpoints ?? []) {
    const ofEndpoint = (sql: string, ...values: readonly Bound[]): Range => ({
      index,
      conditions: new Conditions().add("d.endpoint = ?", endpoint).add(sql, ...values),
      rest: new Conditions(),
    });
    const isOfIt = new Conditions().add("d.endpoint = ?", endpoint);
    const statuses =
      filter.status === undefined
        ? valuesIn(db, index, "status", { among: isOfIt })
        : storedValuesOf(filter.status);
    if (statuses === undefined) return undefined;
    ranges.push(...statuses.map((status) => ofEndpoint("d.status = ?", status)));
    if (filter.status === undefined) ranges.push(ofEndpoint("d.status IS NULL"));
    if (ranges.length > MOST_RANGES) return undefined;
  }
  return endpoints && ranges;
}

/**
 * What `q` finds: events whose name starts with it, and besides an id, a messageId or an identity. `undefined`: too many names do.
 */
function rangesOfSearch(db: Preparing, q: string): readonly Range[] | undefined {
  const names = valuesIn(db, "delivery_by_event", "event", { prefix: q });
  if (names === undefined) return undefined;
  const ranges = names.map((event) => rangeOf("event", "delivery_by_event", event));
  const begins = new Conditions().startsWith("d.event", q);
  const rest = new Conditions().add(`(d.event IS NULL OR NOT (${begins.sql}))`, ...begins.values);
  ranges.push({ index: "delivery_by_id", conditions: new Conditions().add("d.id = ?", q), rest });
  const isNoId = new Conditions().and(rest).add("d.id <> ?", q);
  ranges.push({ ...rangeOf("messageId", "delivery_by_message_id", q), rest: isNoId });
  const isNeither = new Conditions().and(isNoId).add("d.message_id <> ?", q);
  ranges.push({ ...rangeOf("identity", "delivery_by_identity", q), rest: isNeither });
  return ranges;
}

/** The same, asked of each row. */
function searched(rest: Conditions, q: string): Conditions {
  const begins = new Conditions().startsWith("d.event", q);
  const sql = `(d.id = ? OR d.message_id = ? OR d.identity = ? OR (${begins.sql}))`;
  return rest.add(sql, q, q, q, ...begins.values);
}

/**
 * The values of a column of an index, each found with one step in it: those that begin so, and of rows for which conditions hold.
 * `undefined` when there are more than are looked at.
 */
function valuesIn(
  db: Preparing,
  index: string,
  column: "event" | "endpoint" | "status",
  { among = new Conditions(), prefix }: { readonly among?: Conditions; readonly prefix?: string } = {},
): readonly Bound[] | undefined {
  const end = prefix === undefined ? undefined : prefixEnd(prefix);
  const values: Bound[] = [];
  for (;;) {
    const last = values.at(-1);
    const conditions = new Conditions().and(among);
    // One bound of a kind: of two, SQLite takes the first, and reads all from there on.
    if (last !== undefined) conditions.add(`d.${column} > ?`, last);
    else if (prefix !== undefined) conditions.add(`d.${column} >= ?`, prefix);
    else conditions.add(`d.${column} IS NOT NULL`);
    if (end !== undefined) conditions.add(`d.${column} < ?`, end);
    // As bytes: libsql would end a text at its first NUL.
    const shown = column === "status" ? "d.status" : `CAST(d.${column} AS BLOB)`;
    const sql = `SELECT ${shown} FROM delivery AS d INDEXED BY ${index} WHERE ${conditions.sql} ORDER BY d.${column} LIMIT 1`;
    const row = db
      .prepare(sql)
      .raw()
      .get([...conditions.values]) as [number | StoredText] | undefined;
    if (row === undefined) return values;
    if (values.length === MOST_RANGES) return undefined;
    values.push(typeof row[0] === "number" ? row[0] : textOf(row[0]));
  }
}

/** How many rows ranges have together, up to so many: what is counted of each is not read again for the others. */
function roughSizeOf(
  db: Preparing,
  ranges: readonly Range[],
  { order, start, end }: Pick<SearchPlan, "order" | "start" | "end">,
  most: number,
): number {
  const isNewestFirst = order === "newest first";
  const [from, to] = isNewestFirst
    ? [end ?? -END_OF_TIME, start.acceptedAt]
    : [start.acceptedAt, end ?? END_OF_TIME];
  let rows = 0;
  for (const { index, conditions } of ranges) {
    if (rows >= most) break;
    const { sql, values } = new Conditions()
      .and(conditions)
      .add("d.accepted_at >= ? AND d.accepted_at <= ?", from, to);
    const row = db
      .prepare(`SELECT count(*) FROM (SELECT 1 FROM delivery AS d INDEXED BY ${index} WHERE ${sql} LIMIT ?)`)
      .raw()
      .get([...values, most - rows]) as [number];
    rows += row[0];
  }
  return rows;
}
