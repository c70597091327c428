import { ask } from "./start-postgres.ts";
import { until } from "./until.ts";

const TABLES = ["worker", "tally", "usage", "seen", "skipped", "meta", "known_trait", "trait_owner"];

/** Where the database keeps what it knows of tables, which are made and removed every day. */
const CATALOGS = [
  "pg_class",
  "pg_attribute",
  "pg_depend",
  "pg_index",
  "pg_type",
  "pg_inherits",
  "pg_constraint",
];

/**
 * What a schema holds: its size, rows by table, days by table, and the connections to it.
 *
 * @param keptDays Once no older days are left.
 */
export async function storedIn(
  url: string,
  schema: string,
  keptDays: number,
): Promise<Readonly<Record<string, number>>> {
  const days = (table: string): string =>
    `(SELECT count(*)::int FROM pg_inherits WHERE inhparent = '${schema}.${table}'::regclass) AS "days of ${table}"`;
  const daily = async (): Promise<Readonly<Record<string, number>>> => {
    const sql = `SELECT ${["ended", "message", "attempt"].map(days).join()}`;
    return (await ask<Record<string, number>>(url, sql))[0] ?? {};
  };
  // The first of them and that of today are no whole ones, and that of tomorrow is made ahead.
  await until("old days are removed", async () => ((await daily())["days of ended"] ?? 0) <= keptDays + 2);
  const rows = TABLES.map((table) => `(SELECT count(*)::int FROM ${schema}.${table}) AS "rows of ${table}"`);
  const catalogs = CATALOGS.map((table) => `pg_total_relation_size('${table}')`).join(" + ");
  const [others] = await ask<Record<string, number>>(
    url,
    `SELECT (pg_database_size(current_database()) / 1024)::int AS kilobytes,
       ((${catalogs}) / 1024)::int AS "kilobytes of catalogs",
       ceil(pg_total_relation_size('${schema}.delivery') / 1e6)::int AS "megabytes of pending deliveries",
       (SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'countersign') AS connections, ${rows.join(", ")}`,
  );
  return { ...(await daily()), ...others };
}
