import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import type { Attempt } from "@countersign/sender";
import type { DeliveryStore, Settlement } from "@countersign/sender/store";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { cursorOf } from "../../sender/src/delivery/cursor.ts";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { MIGRATIONS } from "../src/schema/migrations.ts";
import { dayOf, inSchema, namesOf } from "../src/schema/names.ts";
import { releaseOrphansSql, removeSql } from "../src/workers/worker-statements.ts";
import { startProxy } from "./support/proxy.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";

const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";

const ATTEMPT = {
  round: 1,
  endpoint: "https://crm.example",
  startedAt: 1,
  durationMs: 2,
  outcome: "failure",
  status: 503,
} as unknown as Attempt;

const delivered = (): Settlement => ({ state: "delivered", endedAt: Date.now(), attempts: [] });
const failed = (): Settlement => ({ state: "failed", endedAt: Date.now(), attempts: [ATTEMPT] });
const later = (): Settlement => ({
  state: "pending",
  dueAt: Date.now() + 3_600_000,
  rounds: 1,
  progress: {},
  attempts: [ATTEMPT],
});

describe.skipIf(server === undefined)(
  `deliveries that a process accepted and holds (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A store whose attempts end when the test says how, and what is told of them. */
    async function openStore(where = url, schema = newSchema(), waiting: readonly string[] = []) {
      const store = postgresStore({ url: where, schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const names = namesOf(schema);
      const run = <Row>(sql: string): Promise<readonly Row[]> => ask<Row>(url, inSchema(names, sql));
      const attempts = new Map<string, (settlement: Settlement) => void>();
      const told: string[] = [];
      const tell = (id: string, what: string): void => {
        told.push(`${id} ${what}`);
        happened();
      };
      const serve = (store_: DeliveryStore, destination: string): void => {
        store_.consume(destination, 10, {
          deliver: ({ delivery: { id } }) =>
            new Promise((resolve) => {
              attempts.set(id, resolve);
              happened();
            }),
          settled: ({ delivery: { id } }, { state }) => tell(id, state),
          lost: ({ delivery: { id } }) => tell(id, "lost"),
        });
      };
      const accept = (ids: readonly string[], more = {}): Promise<unknown> => {
        const deliveries = ids.map((id) => ({
          id,
          destination: "shop/crm",
          acceptedAt: Date.now(),
          key: id,
        }));
        return store.accept({ ...acceptanceOf(deliveries), ...more });
      };
      const underWay = (ids: readonly string[]): Promise<void> =>
        until(`${ids.join(", ")} are under way`, () => ids.every((id) => attempts.has(id)));
      const end = (id: string, settlement: Settlement): void => attempts.get(id)?.(settlement);
      const isTold = (...lines: readonly string[]): Promise<void> =>
        until(`told: ${lines.join(", ")}`, () => lines.every((line) => told.includes(line)));
      const rows = async (): Promise<{ held: number; own: number; ended: number }> => {
        const [counts] = await run<{ held: number; own: number; ended: number }>(
          `SELECT (SELECT count(*) FROM $.held)::int AS held, (SELECT count(*) FROM $.delivery)::int AS own,
             (SELECT count(*) FROM $.ended)::int AS ended`,
        );
        if (counts === undefined) throw new Error("There are no counts.");
        return counts;
      };
      serve(store, "shop/crm");
      await underWay(waiting);
      for (const id of waiting) end(id, delivered());
      await isTold(...waiting.map((id) => `${id} delivered`));
      // Once a lane has claimed and found nothing more, what is stored is held. The first may be claimed.
      await accept(["first"]);
      await underWay(["first"]);
      end("first", delivered());
      await isTold("first delivered");
      await accept(["second"]);
      await underWay(["second"]);
      end("second", delivered());
      await isTold("second delivered");
      return { store, names, run, accept, underWay, end, told, isTold, rows, serve };
    }

    it("are one row until they end, and are seen by everybody as pending", async () => {
      const { store, accept, underWay, end, isTold, rows } = await openStore();
      await accept(["a", "b", "c"]);
      await underWay(["a", "b", "c"]);
      expect(await rows()).toEqual({ held: 1, own: 0, ended: 2 });
      const pending = await store.list({ state: "pending" });
      expect(pending.map(({ id }) => id)).toEqual(["c", "b", "a"]);
      expect(pending[0]).toMatchObject({ messageId: "m-c", identity: "user of c", event: "c", attempts: 0 });
      expect(await store.count({ state: "pending", event: "b" })).toBe(1);
      expect(await store.count({ state: "pending", status: 200 })).toBe(0);
      expect((await store.list({ q: "m-b" })).map(({ id }) => id)).toEqual(["b"]);
      const found = await store.find("b");
      expect(found).toMatchObject({ state: "pending", attempts: [] });
      expect(Buffer.from(found?.body ?? []).toString()).toContain('"event":"b"');
      const counts = (await store.counts()).get("shop/crm");
      expect(counts).toMatchObject({ pending: 3, delivered: 2 });
      expect(counts?.oldestPendingAt).toBe(found?.acceptedAt);
      for (const id of ["a", "b", "c"]) end(id, delivered());
      await isTold("a delivered", "b delivered", "c delivered");
      expect(await rows()).toEqual({ held: 0, own: 0, ended: 5 });
    });

    it("end each in its own way and time", async () => {
      const { store, accept, underWay, end, isTold, rows, run } = await openStore();
      await accept(["a", "b", "c"]);
      await underWay(["a", "b", "c"]);
      end("b", later());
      await isTold("b pending");
      expect(await rows()).toEqual({ held: 1, own: 1, ended: 2 });
      expect((await store.list({ state: "pending" })).map(({ id }) => id)).toEqual(["c", "b", "a"]);
      end("c", failed());
      await isTold("c failed");
      end("a", delivered());
      await isTold("a delivered");
      expect(await rows()).toEqual({ held: 0, own: 1, ended: 4 });
      expect(await store.find("b")).toMatchObject({ state: "pending", attempts: [{ status: 503 }] });
      expect(await store.find("c")).toMatchObject({ state: "failed", attempts: [{ status: 503 }] });
      expect(await store.list({ state: "pending", status: 503 })).toHaveLength(1);
      expect(await run("SELECT rounds, progress FROM $.delivery")).toEqual([{ rounds: 1, progress: "{}" }]);
      const counts = (await store.counts()).get("shop/crm");
      expect(counts).toMatchObject({ pending: 1, delivered: 3, failed: 1 });
    });

    it.each([
      ["is taken over", true],
      ["was removed while it stored them", false],
    ])("wait for another process when theirs %s, without those that have ended", async (_, atOnce) => {
      const { names, accept, underWay, end, told, isTold, rows, run } = await openStore();
      await accept(["a", "b", "c"]);
      await underWay(["a", "b", "c"]);
      end("b", delivered());
      await isTold("b delivered");
      const client = await connectTo(url);
      onTestFinished(() => client.end());
      await client.query("BEGIN");
      const [worker] = (await client.query<{ id: string }>(inSchema(names, "SELECT id FROM $.worker"))).rows;
      if (atOnce) {
        await client.query(removeSql(names), [worker?.id, null]);
      } else {
        await client.query(inSchema(names, "DELETE FROM $.worker"));
        await client.query(releaseOrphansSql(names));
      }
      const left = inSchema(
        names,
        "SELECT id, worker, message, message_day, due_at, accepted_at FROM $.delivery ORDER BY id",
      );
      const waiting = (await client.query<{ id: string; due_at: string; accepted_at: string }>(left)).rows;
      expect(waiting).toMatchObject([
        { id: "a", worker: null, message: "a" },
        { id: "c", worker: null, message: "c" },
      ]);
      for (const row of waiting) expect(row.due_at).toBe(row.accepted_at);
      await client.query("COMMIT");
      // What was under way is refused, and the same process, as a new worker, delivers them again.
      for (const id of ["a", "c"]) end(id, delivered());
      await isTold("a lost", "c lost");
      await until("they are delivered again", async () => {
        for (const id of ["a", "c"]) end(id, delivered());
        return (await rows()).ended === 5;
      });
      expect(told.filter((line) => line.endsWith(" delivered")).toSorted()).toEqual(
        ["a delivered", "b delivered", "c delivered", "first delivered", "second delivered"].toSorted(),
      );
      expect(await rows()).toEqual({ held: 0, own: 0, ended: 5 });
      expect(await run(`SELECT sum(pending)::int AS pending FROM $.tally`)).toEqual([{ pending: 0 }]);
    });

    it("are settled once when the answer to a settlement is lost", async () => {
      const proxy = await startProxy(Number(new URL(url).port));
      const { accept, underWay, end, told, isTold, rows, run } = await openStore(proxy.url(url));
      await accept(["a", "b", "c"]);
      await underWay(["a", "b", "c"]);
      const cut = proxy.cutBeforeAnswer(["user of a"], 1);
      end("a", delivered());
      end("b", later());
      await isTold("a delivered", "b pending");
      expect(cut()).toBe(1);
      end("c", delivered());
      await isTold("c delivered");
      expect(told.filter((line) => line.includes("lost"))).toEqual([]);
      expect(await rows()).toEqual({ held: 0, own: 1, ended: 4 });
      expect(await run(`SELECT sum(pending)::int AS pending FROM $.tally`)).toEqual([{ pending: 1 }]);
      expect(await run("SELECT FROM $.attempt")).toHaveLength(1);
    });

    it("wait as rows of their own when the answer that they are stored was lost", async () => {
      const proxy = await startProxy(Number(new URL(url).port));
      const { accept, underWay, end, isTold, rows } = await openStore(proxy.url(url));
      await accept(["a"]);
      await underWay(["a"]);
      const cut = proxy.cutBeforeAnswer(["user of lost answer"], 1);
      await accept(["lost answer"]).catch(() => {});
      expect(cut()).toBe(1);
      await underWay(["lost answer"]);
      // The other one is still held: what a process knows of it keeps.
      expect(await rows()).toEqual({ held: 1, own: 1, ended: 2 });
      for (const id of ["a", "lost answer"]) end(id, delivered());
      await isTold("a delivered", "lost answer delivered");
      expect(await rows()).toEqual({ held: 0, own: 0, ended: 4 });
    });

    it("are stored without one whose settlement is refused", async () => {
      const { accept, underWay, end, isTold, rows, run } = await openStore();
      await accept(["a", "b", "c"]);
      await underWay(["a", "b", "c"]);
      await run("UPDATE $.held SET ended = set_bit(ended, 1, 1)");
      for (const id of ["a", "b", "c"]) end(id, delivered());
      await isTold("a delivered", "b lost", "c delivered");
      expect(await rows()).toEqual({ held: 0, own: 0, ended: 4 });
    });

    it("are those that are new, of calls of which some repeat others", async () => {
      const { accept, underWay, end, isTold, rows, told } = await openStore();
      const unique = { uniqueForMs: 60_000 };
      expect(await accept(["a"], unique)).toEqual({ repeats: [] });
      await underWay(["a"]);
      end("a", delivered());
      await isTold("a delivered");
      const more = acceptanceOf(
        ["a", "b", "c"].map((key) => ({
          id: `${key}2`,
          destination: "shop/crm",
          acceptedAt: Date.now(),
          key,
        })),
      );
      expect(await accept([], { ...more, ...unique })).toEqual({ repeats: [0] });
      await underWay(["b2", "c2"]);
      expect(await rows()).toEqual({ held: 1, own: 0, ended: 3 });
      for (const id of ["b2", "c2"]) end(id, delivered());
      await isTold("b2 delivered", "c2 delivered");
      expect(await rows()).toEqual({ held: 0, own: 0, ended: 5 });
      expect(told.some((line) => line.startsWith("a2"))).toBe(false);
    });

    it("are none while a process of an older version has the store open, which would overlook them", async () => {
      const { accept, underWay, end, isTold, rows, run } = await openStore();
      await run(`INSERT INTO $.worker (id, epoch, lease_until, beat_at, delivers, virtual, joined, seen)
        SELECT 'old', 1, now() + interval '1 hour', now(), false, false, 1, 1000`);
      await until("it is heard of", async () => {
        const [worker] = await run<{ heard: boolean }>(
          "SELECT beat_at > (SELECT beat_at FROM $.worker WHERE id = 'old') AS heard FROM $.worker WHERE id <> 'old'",
        );
        return worker?.heard === true;
      });
      await accept(["a"]);
      await underWay(["a"]);
      expect(await rows()).toEqual({ held: 0, own: 1, ended: 2 });
      end("a", delivered());
      await isTold("a delivered");
    });

    it("can be repeated, and keep the body of their message when another delivery of it is removed", async () => {
      const { store, underWay, end, isTold, serve, run } = await openStore();
      serve(store, "shop/ads");
      const one = acceptanceOf([{ id: "crm", destination: "shop/crm", acceptedAt: Date.now() }]);
      const deliveries = [...one.deliveries, { id: "ads", destination: "shop/ads", message: 0 }];
      await store.accept({ ...one, deliveries });
      await underWay(["crm", "ads"]);
      end("ads", failed());
      await isTold("ads failed");
      expect(await store.repeat("crm", { id: "copy", acceptedAt: Date.now() })).toBe(true);
      await underWay(["copy"]);
      expect(await store.remove({ state: "failed" })).toBe(1);
      expect((await store.find("crm"))?.body).toBeDefined();
      expect(await run("SELECT FROM $.message WHERE id = 'crm'")).toHaveLength(1);
      for (const id of ["crm", "copy"]) end(id, delivered());
      await isTold("crm delivered", "copy delivered");
    });

    it("are so in a schema that an older version has written, whose deliveries are delivered and listed as before", async () => {
      const names = namesOf(newSchema());
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, names, MIGRATIONS.slice(0, 2));
      const now = Date.now();
      await new DayPartitions(connections, names).ensure([dayOf(now)]);
      const about = "source, id, destination, message, message_day, message_id, type, identity, accepted_at";
      const values = `'shop', 'old-' || n, 'shop/crm', 'old-' || n, ${dayOf(now)}, 'm' || n, 'track', 'u', ${now}`;
      const run = (sql: string): Promise<readonly unknown[]> => ask(url, inSchema(names, sql));
      await run(
        `INSERT INTO $.message SELECT 'shop', 'old-' || n, ${dayOf(now)}, '{}' FROM generate_series(1, 100) AS n`,
      );
      await run(`INSERT INTO $.delivery (${about}, due_at, worker, claim)
        SELECT ${values}, ${now}, CASE WHEN n = 1 THEN 'gone' END, CASE WHEN n = 1 THEN 7 END FROM generate_series(1, 2) AS n`);
      await run(`INSERT INTO $.ended (${about}, day, state, ended_at, log)
        SELECT ${values}, ${dayOf(now)}, 'delivered', ${now}, '[]' FROM generate_series(3, 100) AS n`);
      await run(
        `INSERT INTO $.tally VALUES ('shop', 'shop/crm', -1, '', 2, 0, 0, 0), ('shop', 'shop/crm', ${dayOf(now)}, '', 0, 98, 0, 0)`,
      );
      const { store, told, accept, underWay, end, isTold, rows } = await openStore(
        url,
        names.schema.replaceAll('"', ""),
        ["old-1", "old-2"],
      );
      expect(told.slice(0, 2).toSorted()).toEqual(["old-1 delivered", "old-2 delivered"]);
      await accept(["a"]);
      await underWay(["a"]);
      expect(await rows()).toEqual({ held: 1, own: 0, ended: 102 });
      // All were accepted in the same millisecond: the pages are in the order of the ids.
      const listed: string[] = [];
      let last: { readonly acceptedAt: number; readonly id: string } | undefined;
      while (listed.length < 100) {
        const after = last === undefined ? {} : { after: cursorOf(last) };
        const page = await store.list({ until: now + 1, limit: 30, ...after });
        if (page.length === 0) break;
        listed.push(...page.map(({ id }) => id));
        last = page.at(-1);
      }
      const ids = Array.from({ length: 100 }, (_, index) => `old-${index + 1}`);
      expect(listed).toEqual(ids.toSorted().toReversed());
      end("a", delivered());
      await isTold("a delivered");
    });

    it("keep the day that has their bodies", async () => {
      const { names, accept, underWay, end, isTold, run } = await openStore();
      await accept(["a"]);
      await underWay(["a"]);
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      const partitions = new DayPartitions(connections, names);
      await partitions.removeBefore(Date.now() + 10 * 86_400_000, 0);
      expect(await run("SELECT FROM $.message WHERE id = 'a'")).toHaveLength(1);
      end("a", delivered());
      await isTold("a delivered");
      await partitions.removeBefore(Date.now() + 10 * 86_400_000, 0);
      const [days] = await run<{ count: number }>(
        "SELECT count(*)::int AS count FROM pg_inherits WHERE inhparent = '$.message'::regclass",
      );
      expect(days?.count).toBe(0);
    });
  },
);
