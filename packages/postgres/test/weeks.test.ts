import { postgresStore } from "@countersign/postgres";
import { afterAll, describe, expect, it } from "vitest";
import { runYear } from "../../sender/test/support/year/run-year.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { storedIn } from "./support/stored-in.ts";

const KEPT_DAYS = 3;
const DAYS = 15;

// In its time zone, a day of these has 23 hours.
const server = await startPostgres({ fsync: "off", timezone: "America/New_York" });
const url = server?.url ?? "postgres://127.0.0.1";

// tests/long has a year of it.
describe.skipIf(server === undefined)(
  `two weeks of a sender on a virtual clock (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it(
      "end with nothing lost or counted wrong, over a leap day: days are made and removed in time, and nothing else gathers",
      { timeout: 300_000 },
      async () => {
        const schema = newSchema();
        const months = await runYear({
          store: () => postgresStore({ url, schema, keep: `${KEPT_DAYS}d` }),
          from: "2028-02-27T23:00:00Z",
          days: DAYS,
          monthOf: DAYS / 3,
          restartEvery: 4,
          measure: () => storedIn(url, schema, KEPT_DAYS),
        });
        expect(months).toHaveLength(3);
        for (const { problems, measured } of months) {
          expect(problems).toEqual([]);
          expect(measured["days of ended"]).toBe(KEPT_DAYS + 2);
          // And those of what waits while its destination is disabled, or has been removed.
          for (const table of ["message", "attempt"])
            expect(measured[`days of ${table}`]).toBeLessThanOrEqual(KEPT_DAYS + 8);
          expect(measured["rows of worker"]).toBe(1);
          // Those of two days, of some hundred calls.
          expect(measured["rows of seen"]).toBeLessThan(300);
          // A row for each source and each destination and day, of this process and of those before it.
          expect(measured["rows of usage"]).toBeLessThanOrEqual(2 * 5);
          expect(measured["rows of tally"]).toBeLessThanOrEqual(10 * (KEPT_DAYS + 3) * 3);
          expect(measured["connections"]).toBeLessThanOrEqual(7);
        }
      },
    );
  },
);
