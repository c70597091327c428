import { type Cursor, newestFirst, oldestFirst, parseCursor } from "../delivery/cursor.ts";
import {
  COMPARED_FIELDS,
  type DeliveryFilter,
  isWanted,
  LAST_ATTEMPT_FIELDS,
} from "../delivery/delivery-filter.ts";
import { type Bound, Conditions, storedValuesOf } from "./conditions.ts";
import type { ListOrder } from "../store/delivery-store.ts";
import { sourceOf } from "../store/source-of.ts";
import type { DeliveryCount } from "./delivery-counter.ts";
import type { Preparing } from "./prepared-once.ts";
import { type StoredText, textOf } from "./whole-text.ts";

/** Deliveries that an index has next to each other, by time. */
export interface Range {
  readonly index: string;
  readonly conditions: Conditions;
}

/** How to find what matches a filter: ranges of an index, and what is left to be checked of each row in them. */
export interface SearchPlan {
  readonly ranges: readonly Range[];
  readonly rest: Conditions;
  readonly order: ListOrder;
  /** Rows before this place are not meant. */
  readonly start: Cursor;
  /** A row may be in several ranges. */
  readonly overlaps: boolean;
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

/** Beyond this, ranges are taken to be equally large. */
const LARGE_RANGE = 5_000;

/** The most names of events that a search looks at. */
const MOST_EVENTS = 500;

/** Chooses, of the indexes that could answer a filter, the one with the fewest rows to look at. */
export function planSearch(
  db: Preparing,
  filter: DeliveryFilter,
  kinds: readonly DeliveryCount[],
  order: ListOrder = "newest first",
): SearchPlan {
  const start = startOf(filter, order);
  // The list begins at one end of the time that is meant; where it ends is a condition.
  const within = (range: Range): Range => {
    const { since, until } = filter;
    const isFromEnd = order === "newest first";
    if (isFromEnd && since !== undefined) range.conditions.add("d.accepted_at >= ?", since);
    if (!isFromEnd && until !== undefined) range.conditions.add("d.accepted_at < ?", until);
    return range;
  };
  const plan = { order, start, overlaps: false, size: undefined };
  const { q } = filter;
  const byKind = kinds.filter((kind) => isKindWanted(kind, filter));
  const ranges = byKind.map((kind) => within(rangeOfKind(kind)));
  const restBeside = (answered: readonly Field[]): Conditions =>
    q === undefined ? restOf(filter, answered) : searched(restOf(filter, answered), q);
  let fewest = byKind.reduce((sum, { count }) => sum + count, 0);
  const isWholeTime = filter.since === undefined && start.acceptedAt === END_OF_TIME;
  let best: SearchPlan = {
    ...plan,
    ranges,
    rest: restBeside(KIND_FIELDS),
    size: isWholeTime ? fewest : undefined,
  };
  for (const field of FIELDS) {
    const wanted = filter[field];
    const indexed = INDEXED[field];
    if (wanted === undefined || indexed === undefined) continue;
    const values = storedValuesOf(wanted);
    if (indexed.has !== undefined && !values.every(indexed.has)) continue;
    const ofField = values.map((value) => within(rangeOf(field, indexed.index, value)));
    const rows = ofField.reduce((sum, range) => sum + roughSizeOf(db, range), 0);
    if (rows >= fewest) continue;
    fewest = rows;
    best = { ...plan, ranges: ofField, rest: restBeside([field]) };
  }
  const found = q === undefined || fewest === 0 ? undefined : rangesOfSearch(db, q)?.map(within);
  if (found === undefined || !haveFewer(db, found, fewest)) return best;
  return { ...plan, ranges: found, rest: restOf(filter, []), overlaps: true };
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

function restOf(filter: DeliveryFilter, answered: readonly Field[]): Conditions {
  const rest = new Conditions();
  for (const field of FIELDS) if (!answered.includes(field)) rest.any(`d.${COLUMNS[field]}`, filter[field]);
  return rest;
}

function rangeOf(field: Field, index: string, value: Bound): Range {
  const conditions = new Conditions().add(`d.${COLUMNS[field]} = ?`, value);
  const ofIndex = INDEX_CONDITIONS[index];
  if (ofIndex !== undefined) conditions.add(`d.${ofIndex}`);
  return { index, conditions };
}

function rangeOfKind({ destination, type, state }: DeliveryCount): Range {
  const sql = "d.destination = ? AND d.type = ? AND d.state = ?";
  return { index: "delivery_by_kind", conditions: new Conditions().add(sql, destination, type, state) };
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

/** What `q` finds: an id, a messageId, an identity, or events whose name starts with it. `undefined`: too many names do. */
function rangesOfSearch(db: Preparing, q: string): readonly Range[] | undefined {
  const names = eventsWith(db, q);
  if (names === undefined) return undefined;
  const id: Range = { index: "delivery_by_id", conditions: new Conditions().add("d.id = ?", q) };
  const exact = (["messageId", "identity"] as const).map((field) =>
    rangeOf(field, INDEXED[field]?.index ?? "", q),
  );
  return [id, ...exact, ...names.map((event) => rangeOf("event", "delivery_by_event", event))];
}

/** The same, asked of each row. */
function searched(rest: Conditions, q: string): Conditions {
  const begins = new Conditions().startsWith("d.event", q);
  const sql = `(d.id = ? OR d.message_id = ? OR d.identity = ? OR (${begins.sql}))`;
  return rest.add(sql, q, q, q, ...begins.values);
}

/** Names of events that start so, each found with one step in the index; `undefined` when there are more than are looked at. */
function eventsWith(db: Preparing, prefix: string): readonly string[] | undefined {
  const events: string[] = [];
  for (let from = prefix; ;) {
    const { sql, values } = new Conditions().startsWith("event", prefix).add("event >= ?", from);
    // As bytes: libsql would end a text at its first NUL.
    const row = db
      .prepare(`SELECT CAST(min(event) AS BLOB) FROM delivery WHERE ${sql}`)
      .raw()
      .get([...values]);
    const [event] = row as [StoredText | null];
    if (event === null) return events;
    if (events.length === MOST_EVENTS) return undefined;
    events.push(textOf(event));
    // The next text there is.
    from = `${events.at(-1)}\0`;
  }
}

/** Whether ranges have fewer rows than what else there is to look at, or both have many. */
function haveFewer(db: Preparing, ranges: readonly Range[], others: number): boolean {
  if (others >= LARGE_RANGE) return true;
  let rows = 0;
  return ranges.every((range) => (rows += roughSizeOf(db, range)) < others);
}

function roughSizeOf(db: Preparing, { index, conditions }: Range): number {
  const row = db
    .prepare(
      `SELECT count(*) FROM (SELECT 1 FROM delivery AS d INDEXED BY ${index} WHERE ${conditions.sql} LIMIT ${LARGE_RANGE})`,
    )
    .raw()
    .get([...conditions.values]) as [number];
  return row[0];
}
