import pg from "pg";

const DAY_MS = 86_400_000;

/** Tables that have a partition for each day. */
export const DAILY_TABLES = ["message", "ended", "attempt"] as const;

/** The day that a time falls on: days since 1970, UTC. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** The same of a column, as SQL. */
export function dayOfColumn(column: string): string {
  return `floor(${column} / ${DAY_MS}::float8)::integer`;
}

/** When a day begins, in milliseconds since 1970. */
export function startOfDay(day: number): number {
  return day * DAY_MS;
}

/** The same of a column, as SQL. */
export function startOfDayColumn(day: string): string {
  return `(${day}) * ${DAY_MS}::bigint`;
}

/** Names of one schema, quoted for SQL. */
export interface Names {
  readonly schema: string;
  /** A table of the schema. */
  readonly table: (name: string) => string;
  /** The channel on which processes tell each other what happened. */
  readonly channel: string;
}

export function namesOf(schema: string): Names {
  const quoted = pg.escapeIdentifier(schema);
  return {
    schema: quoted,
    table: (name) => `${quoted}.${pg.escapeIdentifier(name)}`,
    channel: `countersign_${schema}`,
  };
}

/** An entry of an index has room for 2,704 bytes: for so many characters, and the other columns. */
const INDEXED_CHARACTERS = 400;

/** What an index has of a text that may be longer than its room, as SQL. */
export function beginningOf(column: string): string {
  return `left(${column}, ${INDEXED_CHARACTERS})`;
}

/** Whether what an index has of a text is the text, and of no other. */
export function isIndexedWhole(text: string): boolean {
  // It has at least as many units as code points, which the database counts.
  return text.length < INDEXED_CHARACTERS;
}

/** The same of a value that is compared with it. The database counts code points. */
export function beginningOfText(text: string): string {
  if (text.length <= INDEXED_CHARACTERS) return text;
  return Array.from(text).slice(0, INDEXED_CHARACTERS).join("");
}

/** What identifies a row of `known_trait`: a user's id has any length. */
export const KNOWN_TRAIT_KEY: string = `source, trait, destination, ${beginningOf("user_id")}, hashtextextended(user_id, 0)`;

/** Writes `$.name` of a text of SQL as that table of the schema. */
export function inSchema({ table }: Names, sql: string): string {
  return sql.replaceAll(/\$\.([a-z_]+)/g, (_, name: string) => table(name));
}
