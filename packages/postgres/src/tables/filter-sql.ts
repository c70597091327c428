import {
  type DeliveryFilter,
  type ListOrder,
  type OneOrMore,
  parseCursor,
  prefixEnd,
  type SkippedFilter,
  valuesOf,
} from "@countersign/sender/store";
import { encodeText } from "../database/text.ts";
import { beginningOf, beginningOfText, isIndexedWhole } from "../schema/names.ts";

/** Which column each field of a filter is compared with. */
const COLUMNS = {
  source: "source",
  destination: "destination",
  type: "type",
  messageId: "message_id",
  identity: "identity",
  event: "event",
  outcome: "last_outcome",
  status: "last_status",
  endpoint: "last_endpoint",
} as const satisfies Partial<Record<keyof DeliveryFilter, string>>;

/** Columns with texts of any length, of which indexes have the beginning. */
const INDEXED_BY_BEGINNING: ReadonlySet<string> = new Set(["identity", "event", "last_endpoint"]);

/** Sources that have deliveries, when nobody says which: the only index of ids leads with the source. */
export const SOURCES = "SELECT DISTINCT source FROM $.tally WHERE day = -1";

/** Says nothing of a row that has a source: it lets the index of ids be used. */
export const OF_ANY_SOURCE: string = `source IN (${SOURCES}) AND `;

/** Gathers the values that a text of SQL refers to. */
export class Values {
  readonly list: unknown[] = [];

  /** A reference to a value: `$1`. */
  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/** What a filter asks of a table. */
export interface Conditions {
  /** Every one must hold. */
  readonly all: readonly string[];
  /** And one of these, each with an index of its own; empty when nothing is searched for. */
  readonly any: readonly string[];
}

/** What a filter asks of the rows of a table, except their state; and of a search, except that an event begins so. */
export function conditionsOf(filter: DeliveryFilter, values: Values, order?: ListOrder): Conditions {
  const all: string[] = [];
  for (const field of Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]) {
    const wanted = filter[field];
    if (wanted !== undefined)
      all.push(isAny(COLUMNS[field], wanted, field === "status" ? "bigint" : "text", values));
  }
  return {
    all: [...all, ...timesOf(filter, values, order)],
    any:
      filter.q === undefined
        ? []
        : isExactly(filter.q, [`${OF_ANY_SOURCE}id`, "message_id", "identity"], values),
  };
}

/** What a filter asks of skipped calls. */
export function skippedConditionsOf(filter: SkippedFilter, values: Values): Conditions {
  const all: string[] = [];
  for (const field of ["source", "reason"] as const) {
    const wanted = filter[field];
    if (wanted !== undefined) all.push(isAny(field, wanted, "text", values));
  }
  return {
    all: [...all, ...timesOf(filter, values)],
    any:
      filter.q === undefined
        ? []
        : [...isExactly(filter.q, ["message_id", "identity"], values), beginsWith(filter.q, values)],
  };
}

function timesOf(
  { since, until, after }: DeliveryFilter | SkippedFilter,
  values: Values,
  order: ListOrder = "newest first",
): readonly string[] {
  const times: string[] = [];
  if (since !== undefined) times.push(`accepted_at >= ${values.add(bigintOf(since))}`);
  if (until !== undefined) times.push(`accepted_at < ${values.add(bigintOf(until))}`);
  if (after !== undefined) {
    const cursor = parseCursor(after);
    times.push(
      `(accepted_at, id) ${order === "newest first" ? "<" : ">"} (${values.add(bigintOf(cursor.acceptedAt))}, ${values.add(encodeText(cursor.id))})`,
    );
  }
  return times;
}

/** A number as the database can hold it: whatever is further away is as good as that. */
function bigintOf(value: number): number {
  return Math.min(Math.max(Math.ceil(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

function isAny(
  column: string,
  wanted: OneOrMore<string | number>,
  type: "bigint" | "text",
  values: Values,
): string {
  const given = valuesOf(wanted).map((value) =>
    typeof value === "string" ? encodeText(value) : bigintOf(value),
  );
  const isOneOf = (compared: string, of: readonly (string | number)[]): string =>
    of.length === 1
      ? `${compared} = ${values.add(of[0])}::${type}`
      : `${compared} = ANY (${values.add(of)}::${type}[])`;
  const texts = given.map(String);
  if (!INDEXED_BY_BEGINNING.has(column)) return isOneOf(column, given);
  const begins = isOneOf(beginningOf(column), texts.map(beginningOfText));
  // Of a condition that says the same, the planner believes that it leaves out as many again.
  return texts.every(isIndexedWhole) ? begins : `${begins} AND ${isOneOf(column, given)}`;
}

/** A search is exact on ids and the user. */
function isExactly(q: string, columns: readonly string[], values: Values): readonly string[] {
  const encoded = encodeText(q);
  const text = values.add(encoded);
  const beginning = isIndexedWhole(encoded) ? undefined : values.add(beginningOfText(encoded));
  return columns.map((column) => {
    if (!INDEXED_BY_BEGINNING.has(column)) return `(${column} = ${text})`;
    if (beginning === undefined) return `(${beginningOf(column)} = ${text})`;
    return `(${beginningOf(column)} = ${beginning} AND ${column} = ${text})`;
  });
}

/** Whether the name of an event begins with what is searched for. */
export function beginsWith(q: string, values: Values): string {
  const encoded = encodeText(q);
  return `(${within(beginningOf("event"), beginningOfText(encoded), values)}${whole(encoded, values)})`;
}

/** The same of rows whose event is one of some names, each of which begins so: that of the row is called `name`. */
export function isNamed(q: string, values: Values): string {
  return `(${beginningOf("event")} = name${whole(encodeText(q), values)})`;
}

/** Of a text that is not longer than what indexes have, the beginning says everything. */
function whole(q: string, values: Values): string {
  return beginningOfText(q) === q ? "" : ` AND ${within("event", q, values)}`;
}

/** Whether a column begins with a text. */
export function within(column: string, prefix: string, values: Values): string {
  const end = prefixEnd(prefix);
  const from = `${column} >= ${values.add(prefix)}`;
  return end === undefined ? from : `${from} AND ${column} < ${values.add(end)}`;
}
