import { afterAll, describe, expect, it } from "vitest";
import { blockLoop } from "./scenarios/block-loop.ts";
import { breakConnections } from "./scenarios/break-connections.ts";
import { stopDatabase } from "./scenarios/stop-database.ts";
import { wrongClock } from "./scenarios/wrong-clock.ts";
import { untilSettled } from "./support/account.ts";
import { acceptAll, FleetNode } from "./support/fleet.ts";
import { startProxy } from "./support/proxy.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { startTally } from "./support/tally.ts";
import { until } from "./support/until.ts";
import { WorkerWatch } from "./support/watch-workers.ts";

/** A worker that has not extended its lease for so long claims nothing. */
const SILENT_MS = 1_500;

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "";

describe.skipIf(server === undefined)(
  `trouble (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());
    const place = () => ({ url, schema: newSchema() });

    it("loses nothing, and holds nothing for ever, when connections stall, drop, or break before the answer", async () => {
      const { account, unexplained, cuts } = await breakConnections(place(), {
        messages: 60,
        cuts: 2,
      });
      expect(account).toMatchObject({ delivered: account.accepted, failed: 0, expired: 0, lost: [] });
      expect(account.accepted).toBeGreaterThanOrEqual(300);
      // How many are under way when connections stall for longer than a lease depends on the machine. At full length, so many messages are
      // sent that the share of repeats is asserted (tests/long/fleet.long.ts).
      expect(unexplained).toEqual([]);
      for (const cut of cuts) expect(cut).toBeGreaterThan(0);
    });

    it("loses nothing when the database stands still for two leases, and repeats nothing that was settled", async () => {
      if (server === undefined) return;
      const { account, unexplained, isLate } = await stopDatabase(server, place(), {
        messages: 100,
        leaseSeconds: 4,
      });
      expect(account).toMatchObject({ delivered: 200, failed: 0, expired: 0, lost: [] });
      expect(unexplained).toEqual([]);
      expect(isLate ? 0 : account.repeats).toBeLessThanOrEqual(1);
    });

    it("tells a worker whose loop was blocked for two leases that it has lost its claims, and delivers once more, elsewhere", async () => {
      const { account, arrivals, toldDelivered, toldLost } = await blockLoop(place(), 1);
      expect(account).toMatchObject({ delivered: 20, failed: 0, expired: 0, lost: [] });
      expect(arrivals).toEqual(Array(10).fill(2));
      expect(toldDelivered).toBe(10);
      expect(toldLost).toBe(10);
    });

    it.each([3_600_000, -3_600_000])(
      "claims and accepts nothing while its clock is %i ms off, and says so",
      async (clockOffsetMs) => {
        const { account, reason, code, delivered, retriedAfterMs } = await wrongClock(place(), clockOffsetMs);
        expect(account).toMatchObject({ delivered: 29, failed: 0, expired: 0, pending: 1, repeats: 0 });
        // By so much at least: the time that the answer took is not counted.
        expect(reason).toMatch(/^The clock of this machine is (?:59|60) min (?:ahead of|behind) /);
        expect(code).toBe("ERR_STORE_FAILED");
        expect(delivered).toBe(0);
        // Half of the shortest delay, which is random.
        expect(retriedAfterMs ?? 2_500).toBeGreaterThanOrEqual(2_500);
      },
    );

    // What the others have under way when one joins counts until it has ended: only attempts that take longer than a heartbeat show it.
    it.each([
      ["quick", 30, 150],
      ["slow", 1_500, 10],
    ])(
      "keeps to a destination's concurrency over all processes, also while one joins, with %s attempts",
      async (_, ms, messages) => {
        const where = place();
        const tally = await startTally({ after: ms });
        const start = (): Promise<FleetNode> =>
          FleetNode.start({ ...where, role: "both", concurrency: 4, to: tally.url });
        const nodes = [await start(), await start()];
        const watch = new WorkerWatch(where);
        const accepted = new Set<string>();
        const loading = Promise.all(
          nodes.map((node, index) => acceptAll(node, messages, accepted, index * messages)),
        );
        nodes.push(await start());
        await loading;
        const { delivered } = await untilSettled(where, accepted, tally);
        await watch.stop();
        expect(delivered).toBe(2 * messages);
        // One that is silent for longer, on a busy machine, is not waited for: what it has under way comes on top.
        expect(watch.longestSilenceMs < SILENT_MS ? tally.most() : 0).toBeLessThanOrEqual(4);
        for (const node of nodes) await node.close();
      },
    );

    it("waits for a database that is away when it starts", async () => {
      const proxy = await startProxy(server?.port ?? 0);
      const tally = await startTally();
      proxy.close();
      const node = FleetNode.starting({
        url: proxy.url(url),
        schema: newSchema(),
        role: "both",
        to: tally.url,
      });
      await until("it was refused twice", () => proxy.refused() > 1);
      expect(node.messages.map(({ kind }) => kind)).not.toContain("ready");
      proxy.open();
      await node.waitFor(({ kind }) => kind === "ready");
      expect(await node.accept(0, 10)).toBe(true);
      await node.close();
    });
  },
);
