import { afterAll, describe, expect, it } from "vitest";
import { killWorkers } from "./scenarios/kill-workers.ts";
import { killDatabase } from "./scenarios/kill-database.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

// It syncs to disk, and is killed: a server of its own, also where POSTGRES_URL names one.
const server = await startPostgres({ fsync: "on" });

describe.skipIf(server === undefined)(
  `a fleet of processes on one database (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());
    const where = () => ({ url: server?.url ?? "", schema: newSchema() });

    it("loses nothing when one of 2 ingest and 3 worker processes is killed every 1.5 s", async () => {
      const { account, mostRepeats, unexplained, longestHeldMs } = await killWorkers(where(), {
        messages: 1_500,
        forMs: 8_000,
        lease: "2s",
      });
      expect(account.lost).toEqual([]);
      expect(account.delivered).toBeGreaterThanOrEqual(account.accepted);
      expect(account.pending + account.failed + account.expired).toBe(0);
      // How many are under way when a process is killed depends on how busy the machine is. Of the many messages of
      // tests/long/fleet.long.ts, where nothing else runs, they are less than 1 %.
      expect(unexplained).toEqual([]);
      expect(account.repeats).toBeLessThanOrEqual(mostRepeats);
      // Lease and 2 s; the machine may be busy.
      expect(longestHeldMs).toBeLessThan(20_000);
    });

    it("loses nothing when PostgreSQL is killed under load, and goes on when it is back", async () => {
      if (server === undefined) return;
      const { account, backAfterMs } = await killDatabase(server, where(), { messages: 900, kills: 2 });
      expect(account.lost).toEqual([]);
      expect(account.pending + account.failed + account.expired).toBe(0);
      expect(Math.max(...backAfterMs)).toBeLessThan(20_000);
    });
  },
);
