import { afterAll, describe, expect, it } from "vitest";
import { killDatabase } from "../../packages/postgres/test/support/kill-database.ts";
import { killWorkers } from "../../packages/postgres/test/support/kill-workers.ts";
import {
  newSchema,
  NO_POSTGRES,
  startPostgres,
} from "../../packages/postgres/test/support/start-postgres.ts";

const server = await startPostgres({ fsync: "on" });

describe.skipIf(server === undefined)(
  `a fleet for a minute (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());
    const where = () => ({ url: server?.url ?? "", schema: newSchema() });

    it("loses none of 20,000 messages when one of 2 ingest and 3 worker processes is killed every 1.5 s", async () => {
      const account = await killWorkers(where(), { messages: 20_000, forMs: 60_000, lease: "10s" });
      expect(account.lost).toEqual([]);
      expect(account.pending + account.failed + account.expired).toBe(0);
      expect(account.repeats).toBeLessThan(account.accepted * 0.01);
    });

    it("loses nothing when PostgreSQL is killed three times under load, and is back within 2 s", async () => {
      if (server === undefined) return;
      const { account, backAfterMs } = await killDatabase(server, where(), { messages: 10_000, kills: 3 });
      expect(account.lost).toEqual([]);
      expect(account.pending + account.failed + account.expired).toBe(0);
      expect(Math.max(...backAfterMs)).toBeLessThan(2_000);
    });
  },
);
