import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { type Month, runYear } from "../../packages/sender/test/support/year/run-year.ts";

const YEAR = 390;

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
