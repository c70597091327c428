import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { type AttemptResult, createSender, type Sender, type Transport } from "@countersign/sender";
import type { Settlement } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { startProxy } from "./support/proxy.ts";
import { startTally } from "./support/tally.ts";
import { Connections } from "../src/database/connections.ts";
import { namesOf } from "../src/schema/names.ts";
import { Bulletin } from "../src/workers/bulletin.ts";
import type { News } from "../src/workers/gathered-news.ts";
import { happened, until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";
const TIMESTAMP = "2026-01-31T14:00:00.000Z";

describe.skipIf(server === undefined)(
  `what processes share (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    async function open(schema: string, to: string | undefined): Promise<Sender> {
      const store = postgresStore({ url, schema });
      const sources = [{ name: "shop", destinations: [{ name: "main", endpoints: [{ url: to ?? "" }] }] }];
      const sender = await createSender({ store, sources: to === undefined ? "shared" : sources });
      onTestFinished(() => sender.close({ deadline: 1_000 }));
      return sender;
    }

    /** What another process of a schema hears. */
    async function listenTo(schema: string): Promise<readonly News[]> {
      const heard: News[] = [];
      const connections = new Connections({ url });
      const told = (news: News): void => {
        heard.push(news);
        happened();
      };
      const listener = new Bulletin(connections, namesOf(schema), { id: "listener", hasOthers: true });
      onTestFinished(() => {
        listener.close();
        return connections.close();
      });
      await listener.listen({ told, missed: () => {} });
      return heard;
    }

    it("announces each change of an audience once when two processes sync it at the same time", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const senders = [await open(schema, tally.url), await open(schema, undefined)];
      const members = Array.from({ length: 20 }, (_, index) => `u${index}`);
      await Promise.all(
        senders.map((sender) => sender.syncAudience("Big Spenders", members, { source: "shop" })),
      );
      await Promise.all(senders.map((sender) => sender.idle()));
      expect([...tally.arrivals.values()].flat()).toHaveLength(20);
    });

    it("is one copy of each delivery when two processes send all again at the same time: one of them counts it", async () => {
      const statuses = [400];
      const tally = await startTally({ answer: () => statuses[0] ?? 204 });
      const schema = newSchema();
      const senders = [await open(schema, tally.url), await open(schema, undefined)];
      const [first] = senders;
      const calls = Array.from({ length: 50 }, (_, n) => ({
        type: "track" as const,
        userId: `u${n}`,
        event: "Bought",
        timestamp: "2026-01-31T14:00:00.000Z",
      }));
      await first?.accept(calls);
      await Promise.all(senders.map((sender) => sender.idle()));
      const accepted = async (): Promise<number> => {
        const stats = await Promise.all(senders.map((sender) => sender.stats()));
        return stats.flatMap(({ minutes }) => minutes).reduce((sum, minute) => sum + minute.accepted, 0);
      };
      expect(await accepted()).toBe(50);
      statuses.length = 0;
      await Promise.all(senders.map((sender) => sender.resend({ filter: { state: "failed" } })));
      await Promise.all(senders.map((sender) => sender.idle()));
      expect(await first?.count({ state: "delivered" })).toBe(50);
      expect(await accepted()).toBe(100);
    });

    it("follows settings that another process puts, within a second", async () => {
      const [first, second] = [await startTally(), await startTally()];
      const schema = newSchema();
      const one = await open(schema, first.url);
      const other = await open(schema, undefined);
      const destinations = [{ name: "main", endpoints: [{ url: second.url }] }];
      const changedAt = performance.now();
      await one.update({ sources: [{ name: "shop", destinations }] });
      await until(
        "the other process follows",
        () => JSON.stringify(other.settings).includes(second.url),
        10_000,
      );
      // Generous: the machine may be busy.
      expect(performance.now() - changedAt).toBeLessThan(5_000);
      await other.track({ userId: "u1", event: "Bought" });
      await until("it arrived where it should", () => second.arrivals.size === 1);
      expect(first.arrivals.size).toBe(0);
    });

    it("follows settings although the connection broke that read them: the next heartbeat has them read again", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const one = await open(schema, tally.url);
      const proxy = await startProxy(server?.port ?? 0);
      const store = postgresStore({ url: proxy.url(url), schema });
      const other = await createSender({ sources: "shared", store });
      onTestFinished(() => other.close({ deadline: 1_000 }));
      const follows = async (path: string): Promise<void> => {
        const endpoints = [{ url: `${tally.url}${path}` }];
        await one.update({ sources: [{ name: "shop", destinations: [{ name: "main", endpoints }] }] });
        await until("the other process follows", () => JSON.stringify(other.settings).includes(path));
      };
      // By then, it has read what it reads at its start.
      await follows("first");
      const cuts = proxy.cutBeforeAnswer(["SELECT version, text"], 1);
      await follows("second");
      expect(cuts()).toBe(1);
    });

    it("keeps its settings where a database that was set back has none, and can change them at once", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const one = await open(schema, tally.url);
      const { settings } = one;
      await ask(url, `DELETE FROM ${schema}.settings`);
      await until("a heartbeat has told it", () => one.settingsVersion === 0);
      expect(one.settings).toEqual(settings);
      await one.update(settings);
      expect(one.settingsVersion).toBe(1);
    });

    it("tells a process that waits for a delivery that another process has ended it", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const worker = await open(schema, tally.url);
      const store = postgresStore({ url, schema });
      const ingest = await createSender({ store, sources: "shared", deliver: false });
      onTestFinished(() => ingest.close({ deadline: 1_000 }));
      const receipt = await ingest.track({ userId: "u1", event: "Bought" });
      expect((await receipt.settled()).map(({ state }) => state)).toEqual(["delivered"]);
      await worker.idle();
    });

    it("tries all that waits when a process asks that does not deliver: each once, though two ask", async () => {
      const schema = newSchema();
      const tried: string[] = [];
      let isUp = false;
      const transport: Transport = {
        send({ body }) {
          tried.push((JSON.parse(Buffer.from(body).toString()) as { userId: string }).userId);
          happened();
          const result = { durationMs: 1, responseBody: new Uint8Array() };
          return Promise.resolve<AttemptResult>(
            isUp
              ? { ...result, outcome: "success", status: 200 }
              : { ...result, outcome: "server_error", status: 503, retryAfter: "7200" },
          );
        },
        close: () => Promise.resolve(),
      };
      const destinations = [{ name: "main", concurrency: 3, endpoints: [{ url: "https://example.com/" }] }];
      const sources = [{ name: "shop", destinations }];
      const worker = await createSender({ store: postgresStore({ url, schema }), sources, transport });
      onTestFinished(() => worker.close({ deadline: 1_000 }));
      const askers: Sender[] = [];
      for (let n = 0; n < 2; n += 1) {
        const store = postgresStore({ url, schema });
        const asker = await createSender({ store, sources: "shared", deliver: false });
        onTestFinished(() => asker.close({ deadline: 1_000 }));
        askers.push(asker);
      }
      const users = Array.from({ length: 450 }, (_, index) => `u${index}`);
      const calls = users.map(
        (userId) => ({ type: "track", userId, event: "E", timestamp: TIMESTAMP }) as const,
      );
      await worker.accept(calls);
      const isWaiting = async (): Promise<boolean> => {
        const { deliveries } = await worker.summaries({ limit: 1_000 });
        return deliveries.every(({ dueAt = 0 }) => dueAt > Date.now() + 3_600_000);
      };
      await until("all have been tried", () => tried.length === users.length);
      await until("all wait for two hours", isWaiting);

      const heard = await listenTo(schema);
      isUp = true;
      const counts = await Promise.all(askers.map((asker) => asker.retry({ filter: {} })));
      await worker.idle();
      expect(counts.reduce((sum, { retried }) => sum + retried, 0)).toBe(users.length);
      expect(tried.slice(users.length).toSorted()).toEqual(users.toSorted());
      await until("the others were told", () => heard.some(({ stirred }) => stirred !== undefined));
      expect(heard.flatMap(({ stirred = [] }) => stirred)).toContainEqual(["shop", "shop/main"]);
    });

    it.each([
      ["what it has listed", "ORDER BY accepted_at, id"],
      ["what it has read to change", "SELECT id, progress"],
    ])(
      "counts what waits once when two processes ask, though who asks first is last: it gets %s after the other has all",
      async (_, command) => {
        const schema = newSchema();
        const proxy = await startProxy(server?.port ?? 0);
        const [slow, quick] = [
          postgresStore({ url: proxy.url(url), schema }),
          postgresStore({ url, schema }),
        ];
        const askers: Sender[] = [];
        for (const store of [slow, quick]) {
          const asker = await createSender({ store, sources: "shared", deliver: false });
          onTestFinished(() => asker.close({ deadline: 1_000 }));
          askers.push(asker);
        }
        const [first, second] = askers;
        const ids = ["d1", "d2", "d3"];
        const acceptedAt = Date.now();
        await quick.accept(acceptanceOf(ids.map((id) => ({ id, destination: "shop/main", acceptedAt }))));
        await ask(url, `UPDATE ${schema}.delivery SET due_at = due_at + 3600000`);

        const answer = proxy.holdAnswer([command]);
        const asked = first?.retry({ filter: {} });
        await until("the first to ask is held up", answer.isHeld);
        const from = Date.now();
        await until("time has passed", () => Date.now() > from);
        expect(await second?.retry({ filter: {} })).toEqual({ retried: 3, waiting: 3 });
        answer.release();
        expect(await asked).toEqual({ retried: 0, waiting: 0 });
        const [{ due } = { due: 0 }] = await ask<{ due: number }>(
          url,
          `SELECT min(due_at)::float8 AS due FROM ${schema}.delivery`,
        );
        expect(due).toBeGreaterThan(from);
      },
    );

    it("tells the others what it no longer delivers when a destination stops here: what waits for a place, and what is tried again", async () => {
      const schema = newSchema();
      const stores = [postgresStore({ url, schema }), postgresStore({ url, schema })] as const;
      for (const store of stores) {
        await store.open(quietContext(systemClock()));
        onTestFinished(() => store.close());
      }
      const [worker] = stores;
      const heard = await listenTo(schema);
      let from = 0;
      const isStirred = (): boolean =>
        heard.slice(from).some(({ stirred = [] }) => stirred.some(([, name]) => name === "shop/main"));

      let end: ((settlement: Settlement) => void) | undefined;
      const consumer = worker.consume("shop/main", 1, {
        deliver: () => new Promise<Settlement>((resolve) => (end = resolve)),
        settled: () => {},
        lost: () => {},
      });
      const acceptedAt = Date.now();
      await worker.accept(
        acceptanceOf(["d1", "d2"].map((id) => ({ id, destination: "shop/main", acceptedAt }))),
      );
      const claimed = `SELECT id FROM ${schema}.delivery WHERE worker IS NOT NULL`;
      await until("both are claimed", async () => (await ask(url, claimed)).length === 2);
      // The claim is in the database before the worker has its answer.
      await until("one has begun", () => end !== undefined);
      from = heard.length;
      const stopped = consumer.stop();
      await until("the others hear of the one that has not begun", isStirred);
      expect(await ask(url, claimed)).toEqual([{ id: "d1" }]);

      from = heard.length;
      end?.({ state: "pending", dueAt: Date.now() + 5_000, rounds: 1, progress: {}, attempts: [] });
      await stopped;
      await until("they hear of the one that is tried again in five seconds", isStirred);
    });

    it("tells the others of a delivery whose call was repeated, since the answer to the first was lost: nobody has heard of it", async () => {
      const schema = newSchema();
      const proxy = await startProxy(server?.port ?? 0);
      const ingest = postgresStore({ url: proxy.url(url), schema });
      const worker = postgresStore({ url, schema });
      for (const store of [worker, ingest]) {
        await store.open(quietContext(systemClock()));
        onTestFinished(() => store.close());
      }
      const heard = await listenTo(schema);
      const call = acceptanceOf([{ id: "twice", destination: "shop/main", acceptedAt: Date.now() }]);
      proxy.cutBeforeAnswer(["twice"], 1);
      await expect(ingest.accept(call)).rejects.toMatchObject({ code: "ERR_STORE_UNKNOWN" });
      const stored = async (): Promise<number> =>
        (await ask(url, `SELECT id FROM ${schema}.delivery`)).length;
      await until("it is stored", async () => (await stored()) === 1);
      await ingest.accept(call);
      await until("they hear of it", () => heard.some(({ stirred }) => stirred?.[0]?.[1] === "shop/main"));
    });

    it("refuses a virtual clock beside another process, and another process beside a virtual clock", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const real = await open(schema, tally.url);
      const virtual = { url: tally.url, clock: virtualClock() };
      const beside = createSender({ ...virtual, store: postgresStore({ url, schema }) });
      await expect(beside).rejects.toMatchObject({ code: "ERR_STORE_LOCKED" });
      await real.close();
      const alone = await createSender({ ...virtual, store: postgresStore({ url, schema }) });
      onTestFinished(() => alone.close({ deadline: 1_000 }));
      await expect(open(schema, tally.url)).rejects.toMatchObject({ code: "ERR_STORE_LOCKED" });
    });

    it("refuses a schema that only a newer version can use, and says so", async () => {
      const tally = await startTally();
      const schema = newSchema();
      await (await open(schema, tally.url)).close();
      await ask(url, `UPDATE ${schema}.meta SET value = 99 WHERE key IN ('version', 'works_with')`);
      await expect(open(schema, tally.url)).rejects.toMatchObject({ code: "ERR_STORE_NEWER" });
      // A newer version that says that this one works with it: a rolling upgrade.
      await ask(url, `UPDATE ${schema}.meta SET value = 1 WHERE key = 'works_with'`);
      await (await open(schema, tally.url)).close();
    });
  },
);
