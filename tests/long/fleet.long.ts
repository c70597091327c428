import { afterAll, describe, expect, it } from "vitest";
import { blockLoop } from "../../packages/postgres/test/scenarios/block-loop.ts";
import { breakConnections } from "../../packages/postgres/test/scenarios/break-connections.ts";
import { followSettings } from "../../packages/postgres/test/scenarios/follow-settings.ts";
import { killDatabase } from "../../packages/postgres/test/scenarios/kill-database.ts";
import { killWorkers } from "../../packages/postgres/test/scenarios/kill-workers.ts";
import { stopDatabase } from "../../packages/postgres/test/scenarios/stop-database.ts";
import { twoDatabases } from "../../packages/postgres/test/scenarios/two-databases.ts";
import { wrongClock } from "../../packages/postgres/test/scenarios/wrong-clock.ts";
import {
  newSchema,
  NO_POSTGRES,
  startPostgres,
} from "../../packages/postgres/test/support/start-postgres.ts";

// They sync to disk, and are killed: servers of their own, also where POSTGRES_URL names one.
const server = await startPostgres({ fsync: "on" });
const second = await startPostgres({ fsync: "on" });

const NOTHING_LOST = { failed: 0, expired: 0, pending: 0, lost: [] };

describe.skipIf(server === undefined)(
  `a fleet at full length (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(async () => {
      await server?.stop();
      await second?.stop();
    });
    const place = () => ({ url: server?.url ?? "", schema: newSchema() });

    it("loses none of 20,000 messages when one of 2 ingest and 3 worker processes is killed every 1.5 s", async () => {
      const { account, kills, unexplained, longestHeldMs } = await killWorkers(place(), {
        messages: 20_000,
        forMs: 60_000,
        lease: "10s",
      });
      expect(account).toMatchObject({ ...NOTHING_LOST, delivered: account.accepted });
      expect(kills).toBeGreaterThan(30);
      expect(account.repeats).toBeLessThan(account.accepted * 0.01);
      expect(unexplained).toEqual([]);
      expect(longestHeldMs).toBeLessThan(12_000);
    });

    it("loses nothing when PostgreSQL is killed three times under load, and is back within 2 s", async () => {
      if (server === undefined) return;
      const { account, backAfterMs } = await killDatabase(server, place(), { messages: 10_000, kills: 3 });
      expect(account).toMatchObject({ ...NOTHING_LOST, delivered: account.accepted });
      expect(Math.max(...backAfterMs)).toBeLessThan(2_000);
    });

    it("loses nothing when PostgreSQL is suspended for two leases", async () => {
      if (server === undefined) return;
      const { account } = await stopDatabase(server, place(), { messages: 5_000, leaseSeconds: 10 });
      expect(account).toMatchObject({ ...NOTHING_LOST, delivered: 10_000 });
      expect(account.repeats).toBeLessThan(account.accepted * 0.005);
    });

    it("loses nothing, and holds nothing for ever, when connections stall, drop, or break before the answer", async () => {
      const { account, cuts } = await breakConnections(place(), { messages: 4_000, cuts: 20 });
      expect(account).toMatchObject({ ...NOTHING_LOST, delivered: account.accepted });
      expect(account.repeats).toBeLessThan(account.accepted * 0.005);
      expect(Math.min(...cuts)).toBeGreaterThan(0);
    });

    it("delivers elsewhere, and tells it once, when the loop of a worker is blocked for two leases", async () => {
      const { account, toldDelivered, toldLost } = await blockLoop(place(), 10);
      expect(account).toMatchObject({ ...NOTHING_LOST, delivered: 20, repeats: 10 });
      expect({ toldDelivered, toldLost }).toEqual({ toldDelivered: 10, toldLost: 10 });
    });

    it.each([3_600_000, -3_600_000])(
      "lets nothing expire, and retries nothing early, when a clock is %i ms off",
      async (clockOffsetMs) => {
        const { account, delivered, retriedAfterMs } = await wrongClock(place(), clockOffsetMs);
        expect(account).toMatchObject({ delivered: 29, failed: 0, expired: 0, pending: 1, repeats: 0 });
        expect(delivered).toBe(0);
        // Half of the shortest delay, which is random.
        expect(retriedAfterMs ?? 2_500).toBeGreaterThanOrEqual(2_500);
      },
    );

    it("follows settings within a second, twenty times", async () => {
      const { followedAfterMs, arrived } = await followSettings(place(), 20);
      expect(Math.max(...followedAfterMs)).toBeLessThan(1_000);
      expect(arrived).toBe(20);
    });

    it("loses nothing with two databases by source when one of them is killed; the other's source is not affected", async () => {
      if (second === undefined) return;
      const other = { server: second, schema: newSchema() };
      const { stayed, went, refusedWith } = await twoDatabases(place(), other, 2_000);
      expect(stayed).toMatchObject({ ...NOTHING_LOST, delivered: 4_000, repeats: 0 });
      expect(went).toMatchObject({ ...NOTHING_LOST, delivered: 4_000 });
      expect(refusedWith).toMatch(/^ERR_STORE_/u);
    });
  },
);
