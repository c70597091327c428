import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "../../packages/postgres/src/index.ts";
import { sqliteStore } from "@countersign/sender";
import { afterAll, describe, expect, it } from "vitest";
import {
  ask,
  newSchema,
  NO_POSTGRES,
  startPostgres,
} from "../../packages/postgres/test/support/start-postgres.ts";
import { until } from "../../packages/postgres/test/support/until.ts";
import { type Month, runYear } from "../../packages/sender/test/support/year/run-year.ts";

const YEAR = 390;
/** Each moment takes some round trips: three seconds a day. */
const FOUR_MONTHS = 120;

// Each moment in which something is tried waits for its commit: some 4 minutes for a year.
const TIMEOUT_MS = 1_800_000;

/** Nothing was lost in any month, and what is kept in the last month is not more than in the second one. */
function expectLevel(months: readonly Month[]): void {
  for (const { problems } of months) expect(problems).toEqual([]);
  const [second, last] = [months[1], months.at(-1)];
  expect(last?.scheduled).toBeLessThan(5);
  for (const [name, count] of Object.entries(last?.measured ?? {})) {
    const before = second?.measured[name] ?? 0;
    expect([name, count]).toEqual([name, Math.min(count, before * 1.25 + 20)]);
  }
}

describe(
  "a year of a sender on a virtual clock, over a leap day and the end of a year",
  { timeout: TIMEOUT_MS },
  () => {
    it("in a file, with a restart every three days", async () => {
      const path = join(mkdtempSync(join(tmpdir(), "countersign-year-")), "deliveries.db");
      const measure = async () => ({ kilobytes: statSync(path).size / 1_024 });
      expectLevel(
        await runYear({ store: () => sqliteStore({ path }), days: YEAR, restartEvery: 3, measure }),
      );
    });

    it("in memory, without a restart", async () => {
      const measure = async () => ({ megabytes: process.memoryUsage().rss / 1_000_000 });
      expectLevel(await runYear({ store: () => sqliteStore(), days: YEAR, measure }));
    });
  },
);

// A second is eight hours of these months: tables are vacuumed as often as in real ones.
const server = await startPostgres({ fsync: "off", autovacuum_naptime: "1s" });
const url = server?.url ?? "";
const KEPT_DAYS = 7;

/** What a schema holds: its size, rows by table, days by table, and the connections to it. */
async function measureOf(schema: string): Promise<Readonly<Record<string, number>>> {
  const days = (table: string): string =>
    `(SELECT count(*)::int FROM pg_inherits WHERE inhparent = '${schema}.${table}'::regclass)`;
  const daily = async (): Promise<Readonly<Record<string, number>>> => {
    const sql = `SELECT ${days("ended")} AS "days of ended", ${days("message")} AS "days of message", ${days("attempt")} AS "days of attempt"`;
    return (await ask<Record<string, number>>(url, sql))[0] ?? {};
  };
  // The first of them and that of today are no whole ones, and that of tomorrow is made ahead.
  await until("old days are removed", async () => ((await daily())["days of ended"] ?? 0) <= KEPT_DAYS + 2);
  const tables = ["worker", "tally", "usage", "seen", "skipped", "meta", "known_trait", "trait_owner"];
  const rows = tables.map((table) => `(SELECT count(*)::int FROM ${schema}.${table}) AS "rows of ${table}"`);
  const [others] = await ask<Record<string, number>>(
    url,
    `SELECT (pg_database_size(current_database()) / 1024)::int AS kilobytes,
       ceil(pg_total_relation_size('${schema}.delivery') / 1e6)::int AS "megabytes of pending deliveries",
       (SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'countersign') AS connections, ${rows.join(", ")}`,
  );
  return { ...(await daily()), ...others };
}

describe.skipIf(server === undefined)(
  `four months of a sender on a virtual clock (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  { timeout: TIMEOUT_MS },
  () => {
    afterAll(() => server?.stop());

    it("in a database, with a restart every ten days: days go, and nothing else gathers", async () => {
      const schema = newSchema();
      const store = () => postgresStore({ url, schema, keep: `${KEPT_DAYS}d` });
      const months = await runYear({
        store,
        days: FOUR_MONTHS,
        restartEvery: 10,
        measure: () => measureOf(schema),
      });
      expectLevel(months);
      for (const { measured } of months) {
        expect(measured["days of ended"]).toBe(KEPT_DAYS + 2);
        // And those of what waits: a destination is disabled for ever, and another one every other week.
        for (const table of ["message", "attempt"])
          expect(measured[`days of ${table}`]).toBeLessThanOrEqual(KEPT_DAYS + 9);
        expect(measured["rows of worker"]).toBe(1);
        expect(measured["connections"]).toBeLessThanOrEqual(7);
        // Hundreds come and go every day, and some wait: their places are used again.
        expect(measured["megabytes of pending deliveries"]).toBeLessThanOrEqual(2);
      }
    });
  },
);
