import {
  type DeliveryFilter,
  type OneOrMore,
  parseCursor,
  type SkippedFilter,
  valuesOf,
} from "@countersign/sender/store";
import { encodeText } from "../database/text.ts";

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

/** Sources that have deliveries, when nobody says which: the only index of ids leads with the source. */
export const SOURCES = "SELECT DISTINCT source FROM $.tally WHERE day = -1";

/** Gathers the values that a text of SQL refers to. */
export class Values {
  readonly list: unknown[] = [];

  /** A reference to a value: `$1`. */
  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/** What a filter asks of a table; undefined when nothing in it can match. */
export interface Conditions {
  /** Every one must hold. */
  readonly all: readonly string[];
  /** And one of these, each with an index of its own; empty when nothing is searched for. */
  readonly any: readonly string[];
}

/** What a filter asks of the rows of a table, except their state. */
export function conditionsOf(filter: DeliveryFilter, values: Values): Conditions {
  const all: string[] = [];
  for (const field of Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]) {
    const wanted = filter[field];
    if (wanted !== undefined)
      all.push(isAny(COLUMNS[field], wanted, field === "status" ? "int" : "text", values));
  }
  return {
    all: [...all, ...timesOf(filter, values)],
    any: searchOf(filter.q, [`source IN (${SOURCES}) AND id`, "message_id", "identity"], values),
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
    any: searchOf(filter.q, ["message_id", "identity"], values),
  };
}

function timesOf({ since, until, after }: DeliveryFilter | SkippedFilter, values: Values): readonly string[] {
  const times: string[] = [];
  if (since !== undefined) times.push(`accepted_at >= ${values.add(Math.ceil(since))}`);
  if (until !== undefined) times.push(`accepted_at < ${values.add(Math.ceil(until))}`);
  if (after !== undefined) {
    const cursor = parseCursor(after);
    times.push(
      `(accepted_at, id) < (${values.add(cursor.acceptedAt)}, ${values.add(encodeText(cursor.id))})`,
    );
  }
  return times;
}

function isAny(
  column: string,
  wanted: OneOrMore<string | number>,
  type: "int" | "text",
  values: Values,
): string {
  const given = valuesOf(wanted).map((value) => (typeof value === "string" ? encodeText(value) : value));
  if (given.length === 1) return `${column} = ${values.add(given[0])}`;
  return `${column} = ANY (${values.add(given)}::${type}[])`;
}

/** Exact on ids and the user, by its beginning on the event. */
function searchOf(q: string | undefined, exact: readonly string[], values: Values): readonly string[] {
  if (q === undefined) return [];
  const text = values.add(encodeText(q));
  return [
    ...exact.map((column) => `(${column} = ${text})`),
    ...beginsWith("event", encodeText(q), text, values),
  ];
}

/** The last code point: texts that begin with a text come before the text with this behind it. */
const LAST = "\u{10FFFF}";

function beginsWith(column: string, q: string, text: string, values: Values): readonly string[] {
  if (q === "") return [`${column} IS NOT NULL`];
  return [`(${column} >= ${text} AND ${column} < ${values.add(q + LAST.repeat(4))})`];
}
