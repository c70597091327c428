import { postgresStore } from "@countersign/postgres";
import { createSender, type Delivery, moveSqliteStore, type Sender } from "@countersign/sender";
import type { DeliveryStore, StoredDelivery, StoredPart } from "@countersign/sender/store";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { filledFile, KEY, ODD_USER } from "../../sender/test/support/filled-file.ts";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { inSchema, namesOf } from "../src/schema/names.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { startTally } from "./support/tally.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

/** A store that a sender has open, which delivers nothing. */
async function openStore(
  schema: string = newSchema(),
): Promise<{ readonly store: DeliveryStore; readonly sender: Sender; readonly schema: string }> {
  const store = postgresStore({ url, schema });
  const sender = await createSender({ sources: "shared", store, deliver: false });
  onTestFinished(() => sender.close());
  return { store, sender, schema };
}

const DAY_MS = 86_400_000;

/** A delivery of another store. */
function stored(more: Partial<StoredDelivery>): StoredDelivery {
  const acceptedAt = Math.floor(Date.now());
  return {
    id: "d1",
    messageId: "m1",
    type: "track",
    source: "shop",
    destination: "shop/crm",
    identity: "u1",
    event: "Event",
    acceptedAt,
    state: "pending",
    dueAt: acceptedAt,
    body: Buffer.from('{"messageId":"m1"}'),
    attempts: [],
    rounds: 0,
    progress: {},
    attemptsMade: 0,
    bodyId: "d1",
    ...more,
  };
}

describe.skipIf(server === undefined)(
  `what another store has kept (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("counts as usage the most that a file has told: a sender on it may have counted more between two moves", async () => {
      const { store } = await openStore();
      for (const calls of [3, 5, 4])
        await store.take?.({ kind: "usage", from: "file", usage: new Map([["metered", calls]]) });
      expect((await store.usage()).get("metered")).toBe(5);
    });

    it("has the same deliveries, counts, usage, skipped calls and members, taken once or twice", async () => {
      const { path, deliveries } = await filledFile();
      const { store, sender } = await openStore();
      for (let times = 0; times < 2; times += 1) {
        await moveSqliteStore({ path, to: store });
        const found = new Map((await sender.deliveries()).map((delivery) => [delivery.id, delivery]));
        expect(found.size).toBe(deliveries.length);
        for (const delivery of deliveries) expect(plain(found.get(delivery.id))).toEqual(plain(delivery));
        const counts = [...(await store.counts())].map(([name, { pending, delivered, failed, expired }]) => [
          name,
          [pending, delivered, failed, expired],
        ]);
        expect(Object.fromEntries(counts)).toEqual({
          "shop/crm": [2, 2, 1, 0],
          "shop/mail": [1, 2, 1, 0],
        });
        expect(await store.usage()).toEqual(new Map([["shop", 3]]));
        expect(await store.skipped({})).toMatchObject([{ messageId: "blocked", reason: "blocked_event" }]);
        const known = await store.traits("shop", "big_spenders", ["shop/crm", "shop/mail"]);
        expect(known.owner).toEqual({ kind: "audience", name: "Big Spenders" });
        const members = new Map([[ODD_USER, "true"]]);
        expect(known.values).toEqual(
          new Map([
            ["shop/crm", members],
            ["shop/mail", members],
          ]),
        );
      }
    });

    it("knows a repeat, announces only who left an audience, and goes on with the round that is next", async () => {
      const { path, deliveries } = await filledFile();
      const { store, schema } = await openStore();
      await moveSqliteStore({ path, to: store });
      const receiver = await startTally();
      const destinations = ["crm", "mail"].map((name) => ({ name, endpoints: [{ url: receiver.url }] }));
      const sender = await createSender({
        sources: [{ name: "shop", destinations }],
        store: postgresStore({ url, schema }),
      });
      onTestFinished(() => sender.close());
      const timestamp = new Date().toISOString();
      const call = {
        type: "track",
        messageId: "first",
        userId: "u1",
        event: "Delivered",
        key: KEY,
        timestamp,
      } as const;
      expect(await sender.accept([call], { uniqueFor: "3d" })).toMatchObject([{ repeat: true }]);
      expect(await sender.syncAudience("Big Spenders", [])).toMatchObject({
        removed: [ODD_USER],
        changed: [],
      });
      await sender.retry({ filter: {} });
      await until("all are delivered", async () => (await sender.count({ state: "pending" })) === 0);
      for (const { id, state } of deliveries) {
        const { state: now, attempts } = (await sender.delivery(id)) ?? { attempts: [] };
        const rounds = attempts.map(({ round }) => round);
        expect([now, rounds]).toEqual(state === "pending" ? ["delivered", [1, 2]] : [state, [1]]);
      }
    });

    it("wakes a worker for what is due, and does not send again what it has delivered", async () => {
      const { store, sender, schema } = await openStore();
      const receiver = await startTally();
      const worker = await createSender({
        sources: [{ name: "shop", destinations: [{ name: "crm", endpoints: [{ url: receiver.url }] }] }],
        store: postgresStore({ url, schema }),
      });
      onTestFinished(() => worker.close());
      const part: StoredPart = { kind: "deliveries", deliveries: [stored({})] };
      for (let times = 0; times < 2; times += 1) {
        await store.take?.(part);
        await until("it is delivered", async () => (await sender.count({ state: "delivered" })) === 1);
        expect(await sender.count({ state: "pending" })).toBe(0);
      }
      expect(receiver.arrivals.get("m1")).toHaveLength(1);
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 0, delivered: 1 });
    });

    it("sends nothing that waits here, and that the store which it came from has ended since then", async () => {
      const { store, sender, schema } = await openStore();
      const failed = { round: 1, endpoint: "http://127.0.0.1/", startedAt: 1, durationMs: 1, response: "" };
      const first = { ...failed, outcome: "server_error", status: 503 } as const;
      const waits = stored({ attempts: [first], attemptsMade: 1, rounds: 1 });
      await store.take?.({ kind: "deliveries", deliveries: [waits, stored({ id: "d2", bodyId: "d2" })] });
      const endedAt = Math.floor(Date.now());
      const second = { ...failed, round: 2, outcome: "success", status: 200 } as const;
      const attempts = [first, second];
      const ended = { state: "delivered", dueAt: undefined, endedAt, attempts, attemptsMade: 2 } as const;
      for (let times = 0; times < 2; times += 1)
        await store.take?.({ kind: "deliveries", deliveries: [stored(ended)] });
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 1, delivered: 1 });
      expect((await sender.delivery("d1"))?.attempts).toHaveLength(2);
      const receiver = await startTally();
      const worker = await createSender({
        sources: [{ name: "shop", destinations: [{ name: "crm", endpoints: [{ url: receiver.url }] }] }],
        store: postgresStore({ url, schema }),
      });
      onTestFinished(() => worker.close());
      await until("the other one is delivered", async () => (await sender.count({ state: "pending" })) === 0);
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 0, delivered: 2 });
      expect([...receiver.arrivals.values()].flat()).toHaveLength(1);
    });

    it("does not take again what a worker ends at that moment", async () => {
      const { store, sender, schema } = await openStore();
      const part: StoredPart = { kind: "deliveries", deliveries: [stored({})] };
      await store.take?.(part);
      const worker = new pg.Client({ connectionString: url });
      await worker.connect();
      onTestFinished(() => worker.end());
      // The settlement has removed it, and is not committed while the part is taken again.
      await worker.query(`BEGIN; ${inSchema(namesOf(schema), "DELETE FROM $.delivery")}`);
      const again = store.take?.(part);
      const waiting = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      let isTaken = false;
      void again?.then(() => (isTaken = true));
      await until("it is taken, or waits", async () => {
        const [row] = await ask<{ count: number }>(url, waiting);
        return isTaken || (row?.count ?? 0) > 0;
      });
      await worker.query("COMMIT");
      await again;
      expect((await sender.summaries({ state: "pending" })).deliveries).toEqual([]);
    });

    it("keeps the body of what has waited for a month, and of what ended days after it was accepted", async () => {
      const { store, sender, schema } = await openStore();
      const now = Math.floor(Date.now());
      const old = now - 30 * DAY_MS;
      const ended = { state: "delivered", endedAt: now - DAY_MS, dueAt: undefined } as const;
      const deliveries = [
        stored({ acceptedAt: old, dueAt: old }),
        stored({ id: "d2", bodyId: "d2", acceptedAt: old + DAY_MS, ...ended }),
      ];
      await store.take?.({ kind: "deliveries", deliveries });
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await new DayPartitions(connections, namesOf(schema)).removeBefore(now, 7 * DAY_MS);
      for (const { id, body } of deliveries) expect((await sender.delivery(id))?.body).toEqual(body);
    });

    it("counts the later use of a key, and keeps keys for as long as they were asked for", async () => {
      const { store, schema } = await openStore();
      const now = Math.floor(Date.now());
      const keys = (at: number): StoredPart => ({
        kind: "keys",
        keepForMs: 10 * DAY_MS,
        keys: [{ source: "shop", key: "k\0", at }],
      });
      for (const at of [now - 5, now, now - 9]) await store.take?.(keys(at));
      const names = namesOf(schema);
      expect(await ask(url, inSchema(names, "SELECT at::float8 AS at FROM $.seen"))).toEqual([{ at: now }]);
      expect(
        await ask(url, inSchema(names, "SELECT value::float8 AS ms FROM $.meta WHERE key = 'keep_keys'")),
      ).toEqual([{ ms: 10 * DAY_MS }]);
    });

    it("keeps the newer value of a trait that was synced here, and refuses another owner's", async () => {
      const { store } = await openStore();
      const owner = { kind: "computed trait", name: "Total" } as const;
      const trait = {
        kind: "trait",
        source: "shop",
        trait: "total",
        owner,
        destination: "shop/crm",
      } as const;
      await store.take?.({ ...trait, values: new Map([["u1", "1"]]) });
      const before = await store.traits("shop", "total", ["shop/crm"]);
      await store.take?.({
        ...trait,
        values: new Map([
          ["u1", "9"],
          ["u2", "2"],
        ]),
      });
      const after = await store.traits("shop", "total", ["shop/crm"]);
      expect(after.values.get("shop/crm")).toEqual(
        new Map([
          ["u1", "1"],
          ["u2", "2"],
        ]),
      );
      // A sync that has read it before decides again.
      expect(after.version).not.toBe(before.version);
      const other = {
        ...trait,
        owner: { ...owner, kind: "audience" },
        values: new Map([["u3", "true"]]),
      } as const;
      await expect(store.take?.(other)).rejects.toThrow(/audience "Total".*belongs to another one/u);
      expect(await store.traits("shop", "total", ["shop/crm"])).toEqual(after);
    });

    it.each<[string, Partial<StoredDelivery>]>([
      ["bodies", { body: Buffer.alloc(1_500_000, 120) }],
      [
        "responses",
        { state: "failed", endedAt: Date.now(), attempts: attemptsWith("x".repeat(15_000), 100) },
      ],
    ])(
      "takes deliveries with large %s with several commands: one for all may never get its answer in time",
      async (_, large) => {
        const { store, sender } = await openStore();
        const deliveries = Array.from({ length: 5 }, (_item, index) =>
          stored({ ...large, id: `d${index}`, bodyId: `d${index}` }),
        );
        const query = vi.spyOn(pg.Client.prototype, "query");
        onTestFinished(() => query.mockRestore());
        await store.take?.({ kind: "deliveries", deliveries });
        const sizes = query.mock.calls.map(sizeOf);
        expect(Math.max(...sizes)).toBeGreaterThan(1_500_000);
        expect(Math.max(...sizes)).toBeLessThan(5_000_000);
        expect(await sender.count({})).toBe(5);
      },
    );
  },
);

function attemptsWith(response: string, number: number): StoredDelivery["attempts"] {
  const attempt = { endpoint: "https://example.com/", startedAt: Date.now(), durationMs: 1 } as const;
  return Array.from({ length: number }, (_, round) => ({
    ...attempt,
    round,
    outcome: "rejected",
    status: 400,
    response,
  }));
}

/** How many bytes the values of a command have, about. */
function sizeOf([config]: readonly unknown[]): number {
  const { values = [] } = config as { readonly values?: readonly unknown[] };
  return values.reduce<number>(
    (sum, value) => sum + (Buffer.isBuffer(value) ? value.length : String(value).length),
    0,
  );
}

/** What is said of a delivery, without what is absent. */
function plain(delivery: Delivery | undefined): unknown {
  return delivery && JSON.parse(JSON.stringify({ ...delivery, body: Buffer.from(delivery.body).toString() }));
}
