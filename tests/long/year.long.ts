import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "../../packages/postgres/src/index.ts";
import { storedIn } from "../../packages/postgres/test/support/stored-in.ts";
import { sqliteStore } from "@countersign/sender";
import { afterAll, describe, expect, it } from "vitest";
import {
  newSchema,
  NO_POSTGRES,
  startPostgres,
} from "../../packages/postgres/test/support/start-postgres.ts";
import { type Month, runYear } from "../../packages/sender/test/support/year/run-year.ts";

const YEAR = 390;
// Each moment in which something is tried waits for its commit: some 4 minutes for a year in a file, and 6 in PostgreSQL.
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

// A second is eight hours of this year: tables are vacuumed as often as in a real one. The database has days of 23 and 25 hours.
const TIME_ZONE = "America/New_York";
const server = await startPostgres({ fsync: "off", autovacuum_naptime: "1s", timezone: TIME_ZONE });
const url = server?.url ?? "";
const KEPT_DAYS = 7;

describe.skipIf(server === undefined)(
  `a year of a sender on a virtual clock (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  { timeout: TIMEOUT_MS },
  () => {
    afterAll(() => server?.stop());

    it("in a database, with a restart every ten days: days go, and nothing else gathers", async () => {
      const schema = newSchema();
      const store = () => postgresStore({ url, schema, keep: `${KEPT_DAYS}d` });
      const measure = () => storedIn(url, schema, KEPT_DAYS);
      const months = await runYear({ store, days: YEAR, restartEvery: 10, measure });
      expectLevel(months);
      for (const [index, { measured }] of months.entries()) {
        expect(measured["days of ended"]).toBe(KEPT_DAYS + 2);
        // And those of what waits: a destination is disabled for ever, another one every other week, and sources go in some months.
        for (const table of ["message", "attempt"])
          expect(measured[`days of ${table}`]).toBeLessThanOrEqual(KEPT_DAYS + 6 + Math.ceil(index / 2));
        expect(measured["rows of worker"]).toBe(1);
        expect(measured["connections"]).toBeLessThanOrEqual(7);
        // Hundreds come and go every day, and some wait: their places are used again.
        expect(measured["megabytes of pending deliveries"]).toBeLessThanOrEqual(2);
      }
    });
  },
);
