import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { acceptUntilAnswered, accountOf, FleetNode, print, startTally, until } from "./support/fleet.ts";
import { startProxy } from "./support/proxy.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "";

/** The same database by way of a proxy. */
function through(port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

async function acceptAll(node: FleetNode, count: number, accepted: Set<string>, first = 0): Promise<void> {
  for (let from = first; from < first + count; from += 10) {
    await acceptUntilAnswered(() => node, from, 10);
    for (let index = from; index < from + 10; index += 1) accepted.add(`m${index}`);
  }
}

describe.skipIf(server === undefined)(
  `trouble (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("loses nothing, and holds nothing for ever, when connections stall, drop, or break before the answer", async () => {
      const tally = await startTally();
      const proxy = await startProxy(server?.port ?? 0);
      const where = { url, schema: newSchema() };
      const node = await FleetNode.start({
        ...where,
        url: through(proxy.port),
        role: "both",
        lease: "2s",
        to: tally.url,
      });
      const other = await FleetNode.start({ ...where, role: "worker", lease: "2s", to: tally.url });
      const accepted = new Set<string>();
      const cuts: (() => number)[] = [];
      const settled = (): Promise<void> =>
        until("nothing is pending", async () => (await accountOf(where, accepted, tally)).pending === 0);
      // What each command begins with: to accept, to claim, to settle.
      for (const [index, text] of ["new_message AS", "picked AS", "postponed AS"].entries()) {
        cuts.push(proxy.cutBeforeAnswer(text, 2));
        await acceptAll(node, 60, accepted, index * 60);
        await settled();
      }
      proxy.drop();
      await acceptAll(node, 60, accepted, 180);
      await settled();
      proxy.stall();
      const stalled = acceptAll(node, 10, accepted, 240);
      await new Promise((resolve) => setTimeout(resolve, 4_500));
      proxy.resume();
      await stalled;
      await settled();
      const account = await accountOf(where, accepted, tally);
      print(account);
      expect(account.lost).toEqual([]);
      expect(account.failed + account.expired).toBe(0);
      expect(account.delivered).toBe(250);
      // What was under way when connections stalled for longer than a lease.
      expect(account.repeats).toBeLessThanOrEqual(10);
      expect(cuts.map((done) => done()).reduce((sum, done) => sum + done)).toBeGreaterThan(0);
      await node.close();
      await other.close();
    });

    it("tells a worker whose loop was blocked for two leases that it has lost its claims, and delivers once more, elsewhere", async () => {
      const where = { url, schema: newSchema() };
      const tally = await startTally(() => 200, 3_500);
      const blocked = await FleetNode.start({ ...where, role: "both", lease: "1s", to: tally.url });
      const accepted = new Set<string>();
      const other = await FleetNode.start({ ...where, role: "worker", lease: "1s", to: tally.url });
      await acceptAll(blocked, 10, accepted);
      await until("the attempts are under way", () => tally.arrivals.size === 10);
      blocked.send({ kind: "block", ms: 3_800 });
      await until(
        "the other has settled them",
        () => other.messages.filter(({ kind }) => kind === "delivered").length === 10,
      );
      await blocked.waitFor(({ kind }) => kind === "unblocked");
      await acceptAll(blocked, 10, accepted, 10);
      await until("nothing is pending", async () => (await accountOf(where, accepted, tally)).pending === 0);
      const account = await accountOf(where, accepted, tally);
      print(account);
      expect(account.lost).toEqual([]);
      expect(account.delivered).toBe(20);
      const delivered = [...blocked.messages, ...other.messages].filter(({ kind }) => kind === "delivered");
      const own = delivered.filter(({ messageId }) => Number(messageId?.slice(1)) < 10);
      expect(own).toHaveLength(10);
      expect(blocked.messages.filter(({ kind }) => kind === "lost")).toHaveLength(10);
      await blocked.close();
      await other.close();
    });

    it.each([3_600_000, -3_600_000])(
      "claims and accepts nothing while its clock is %i ms off, and says so",
      async (clockOffsetMs) => {
        const where = { url, schema: newSchema() };
        const tally = await startTally((messageId) => (messageId === "m0" ? 503 : 200));
        const right = await FleetNode.start({ ...where, role: "both", to: tally.url });
        const wrong = await FleetNode.start({ ...where, role: "both", to: tally.url, clockOffsetMs });
        const unsafe = await wrong.waitFor(({ state }) => state === "unsafe");
        expect(unsafe.reason).toContain("The clock of this machine is 3600.");
        expect(await wrong.accept(1_000, 10)).toBe(false);
        const accepted = new Set<string>();
        await acceptAll(right, 20, accepted);
        await until("all but the one that is refused arrived", () => tally.arrivals.size === 20);
        await until(
          "all but one are settled",
          async () => (await accountOf(where, accepted, tally)).pending === 1,
        );
        const account = await accountOf(where, accepted, tally);
        print(account);
        expect(account).toMatchObject({ delivered: 19, failed: 0, expired: 0, pending: 1, repeats: 0 });
        expect(wrong.messages.filter(({ kind }) => kind === "delivered")).toEqual([]);
        await right.close();
        await wrong.close();
      },
    );

    it("keeps to a destination's concurrency over all processes, also while one joins", async () => {
      const where = { url, schema: newSchema() };
      const tally = await startTally(() => 200, 30);
      const start = (): Promise<FleetNode> =>
        FleetNode.start({ ...where, role: "both", concurrency: 4, to: tally.url });
      const nodes = [await start(), await start()];
      const accepted = new Set<string>();
      const loading = Promise.all(nodes.map((node, index) => acceptAll(node, 150, accepted, index * 150)));
      nodes.push(await start());
      await loading;
      await until("nothing is pending", async () => (await accountOf(where, accepted, tally)).pending === 0);
      expect(tally.most()).toBeLessThanOrEqual(4);
      expect((await accountOf(where, accepted, tally)).delivered).toBe(300);
      for (const node of nodes) await node.close();
    });

    it("waits for a database that is away, and refuses a password that is wrong", async () => {
      const proxy = await startProxy(server?.port ?? 0);
      const tally = await startTally();
      proxy.close();
      const starting = FleetNode.start({
        url: through(proxy.port),
        schema: newSchema(),
        role: "both",
        to: tally.url,
      });
      await new Promise((resolve) => setTimeout(resolve, 500));
      proxy.open();
      const node = await starting;
      expect(await node.accept(0, 10)).toBe(true);
      await node.close();
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.end();
    });
  },
);
