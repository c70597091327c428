import type { Connections } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { encodeText } from "../database/text.ts";
import { beginningOf, beginningOfText, inSchema, type Names } from "../schema/names.ts";
import { Values, within } from "./filter-sql.ts";

/** The most names that a search asks for one by one. With more, a page of those that it finds is near the newest. */
const MOST_NAMES = 20;

const NAME = beginningOf("event");

/**
 * The names of events that begin with a text, as indexes have them, encoded; undefined when there are too many.
 *
 * The database takes a text for the beginning of names that are found everywhere, and would read from the newest delivery on: of names
 * that only old ones have, all deliveries. Of one name, an index has them by time.
 */
export async function namesThatBeginWith(
  connections: Connections,
  names: Names,
  q: string,
): Promise<readonly string[] | undefined> {
  const values = new Values();
  const begins = within(NAME, beginningOfText(encodeText(q)), values);
  const sql = `WITH RECURSIVE ${stepsThrough("waiting", "delivery", `worker IS NULL AND ${begins}`)},
    ${stepsThrough("over", "ended", begins)}
    SELECT name FROM (${firstOf("waiting")} UNION ${firstOf("over")}) AS found LIMIT ${MOST_NAMES + 1}`;
  const statement = keptStatement("event_names", inSchema(names, sql));
  const rows = await connections.query<{ name: string }>("read", statement, values.list);
  return rows.length > MOST_NAMES ? undefined : rows.map(({ name }) => name);
}

/** The names in a table, in order, each found with one step in its index. The last row has none. */
function stepsThrough(name: string, table: string, where: string): string {
  const step = (from: string): string =>
    `(SELECT ${NAME} FROM $.${table} WHERE ${where}${from} ORDER BY ${NAME} LIMIT 1)`;
  return `${name} (name) AS (SELECT ${step("")} UNION ALL
    SELECT ${step(` AND ${NAME} > ${name}.name`)} FROM ${name} WHERE name IS NOT NULL)`;
}

function firstOf(name: string): string {
  return `(SELECT name FROM ${name} WHERE name IS NOT NULL LIMIT ${MOST_NAMES + 1})`;
}
