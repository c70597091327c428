import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { createSender, type Sender } from "@countersign/sender";
import type { DeliveryHandler, DeliveryStore } from "@countersign/sender/store";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { passTime } from "../../../tests/support/pass-time.ts";
import { Connections } from "../src/database/connections.ts";
import { SERVER_START } from "../src/database/server-start.ts";
import { delivering } from "./support/delivering.ts";
import { lacks, programs } from "./support/postgres-programs.ts";
import { type Proxy, startProxy } from "./support/proxy.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres, type TestPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";

const DAY_MS = 86_400_000;
const SKIPPED = programs() === undefined ? NO_POSTGRES : lacks("pg_basebackup");

/** A primary, and a standby that becomes the primary. */
interface Pair {
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** Leads to the primary. */
  readonly proxy: Proxy;
  readonly url: string;
  /** From here on, the standby gets no changes. */
  cutOff(): void;
  /** @param meanwhile What happens to the new primary before anybody reaches it. */
  failOver(meanwhile?: () => Promise<unknown>): Promise<void>;
}

async function startPair(): Promise<Pair> {
  const primary = (await startPostgres({ fsync: "off" })) as TestPostgres;
  onTestFinished(() => primary.stop());
  const log = await startProxy(primary.port);
  const follows = { fsync: "off", primary_conninfo: log.url(primary.url) };
  const standby = (await startPostgres(follows, { standbyOf: primary })) as TestPostgres;
  onTestFinished(() => standby.stop());
  const proxy = await startProxy(primary.port);
  return {
    primary,
    standby,
    proxy,
    url: proxy.url(primary.url),
    cutOff: () => log.close(),
    async failOver(meanwhile = async () => {}) {
      primary.signal("SIGKILL");
      proxy.close();
      await standby.promote();
      await meanwhile();
      proxy.lead(standby.port);
      proxy.open();
    },
  };
}

/** Whether the standby answers with a row. */
async function standbyHas({ standby }: Pick<Pair, "standby">, sql: string): Promise<boolean> {
  const rows = await ask(standby.url, sql).catch(() => []);
  return rows.length > 0;
}

describe.skipIf(SKIPPED !== undefined)(
  `a standby that lacks the last changes and becomes the primary (${SKIPPED ?? "PostgreSQL"})`,
  { timeout: 120_000 },
  () => {
    /** A store that delivers to `shop/main`, and what it has accepted. */
    async function deliver({ url }: Pair, handler: DeliveryHandler) {
      const schema = newSchema();
      const store = postgresStore({ url, schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      store.consume("shop/main", 10, handler);
      const accept = (id: string) =>
        store.accept(acceptanceOf([{ id, destination: "shop/main", acceptedAt: Date.now() }]));
      return { schema, accept };
    }

    it("holds nothing back as claimed whose round has ended: it is tried again", async () => {
      const pair = await startPair();
      let finish = (): void => {};
      const held = new Promise<void>((resolve) => (finish = resolve));
      let attempts = 0;
      const ends: string[] = [];
      const { schema, accept } = await deliver(pair, {
        async deliver() {
          attempts += 1;
          if (attempts > 1) return { state: "delivered", endedAt: Date.now(), attempts: [] };
          await held;
          return { state: "pending", dueAt: Date.now() + DAY_MS, rounds: 1, progress: {}, attempts: [] };
        },
        settled: (_, { state }) => {
          ends.push(state);
          happened();
        },
        lost: () => void ends.push("lost"),
      });
      await accept("late");
      const claimed = `SELECT id FROM ${schema}.delivery WHERE worker IS NOT NULL`;
      await until("the standby has its claim", () => standbyHas(pair, claimed));
      pair.cutOff();
      finish();
      await until("its round has ended", () => ends.length === 1);
      await pair.failOver();
      await until("it is tried again", () => ends.length === 2);
      expect(ends).toEqual(["pending", "delivered"]);
    });

    it("stops no worker that had begun a new epoch: it delivers on", async () => {
      const pair = await startPair();
      const ended = new Set<string>();
      const { schema, accept } = await deliver(pair, {
        deliver: async () => ({ state: "delivered", endedAt: Date.now(), attempts: [] }),
        settled: ({ delivery }) => {
          ended.add(delivery.id);
          happened();
        },
        lost: () => {},
      });
      await accept("first");
      await until("it delivers", () => ended.has("first"));
      await until("the standby has it", () => standbyHas(pair, `SELECT id FROM ${schema}.ended`));
      pair.cutOff();
      // A claim whose answer is lost begins an epoch.
      let calls = 0;
      await until("an epoch has begun", async () => {
        calls += 1;
        pair.proxy.cutBeforeAnswer([`cut-${calls}-`], 1);
        await accept(`cut-${calls}-`).catch(() => {});
        return (await epochOn(pair.primary, schema)) > 1;
      });
      await pair.failOver();
      let again = 0;
      await until("a call is accepted", () => {
        again += 1;
        return accept(`again-${again}`).then(
          () => true,
          () => false,
        );
      });
      await until("it delivers again", () => ended.has(`again-${again}`));
      expect(await epochOn(pair.standby, schema)).toBeGreaterThan(1);
    });

    /** Two senders on one store whose settings lead to port 9, and have led to port 10 since the standby was cut off. */
    async function share(pair: Pair) {
      const schema = newSchema();
      const open = async (
        options: ReturnType<typeof settingsTo> | { readonly sources: "shared" },
      ): Promise<Sender> => {
        const store = postgresStore({ url: pair.url, schema });
        const sender = await createSender({ store, ...options });
        onTestFinished(() => sender.close({ deadline: 2_000 }));
        return sender;
      };
      const one = await open(settingsTo(9));
      const other = await open({ sources: "shared" });
      const kept = `SELECT version FROM ${schema}.settings WHERE version = ${one.settingsVersion}`;
      await until("the standby has the settings", () => standbyHas(pair, kept));
      pair.cutOff();
      await one.update(settingsTo(10));
      const untilBothLeadTo = (port: number): Promise<void> =>
        until(`both lead to ${port}`, () =>
          [one, other].every(({ settings }) => JSON.stringify(settings) === JSON.stringify(settingsTo(port))),
        );
      await untilBothLeadTo(10);
      return { schema, one, lost: one.settingsVersion, untilBothLeadTo };
    }

    it("has its settings followed by every process, and changed by any, although their version is older", async () => {
      const pair = await startPair();
      const { one, lost, untilBothLeadTo } = await share(pair);
      await pair.failOver();
      await untilBothLeadTo(9);
      await one.update(settingsTo(11));
      expect(one.settingsVersion).toBe(lost);
      await untilBothLeadTo(11);
    });

    it("has its settings followed by every process although others had the same version", async () => {
      const pair = await startPair();
      const { schema, one, lost, untilBothLeadTo } = await share(pair);
      // Somebody is quicker than the processes that know the lost settings.
      const change = `UPDATE ${schema}.settings SET version = version + 1, text = replace(text, ':9/', ':11/')`;
      await pair.failOver(() => ask(pair.standby.url, change));
      await untilBothLeadTo(11);
      expect(one.settingsVersion).toBe(lost);
    });
  },
);

describe.skipIf(SKIPPED !== undefined)(
  `a primary that goes on as one that is read-only (${SKIPPED ?? "PostgreSQL"})`,
  { timeout: 120_000 },
  () => {
    it("is read no more, and its notices are not waited for", async () => {
      const { primary, standby, proxy, url } = await startPair();
      const schema = newSchema();
      const heard = new Set<string>();
      const open = async (): Promise<DeliveryStore> => {
        const store = postgresStore({ url, schema });
        await store.open({ ...quietContext(systemClock()), ended: (id) => void heard.add(id) });
        onTestFinished(() => store.close());
        return store;
      };
      const [accepting, worker] = [await open(), await open()];
      worker.consume("shop/main", 10, delivering().handler);
      let calls = 0;
      const accept = async (): Promise<string> => {
        calls += 1;
        const id = `call-${calls}`;
        await accepting.accept(acceptanceOf([{ id, destination: "shop/main", acceptedAt: Date.now() }]));
        return id;
      };
      const before = await accept();
      await until("it hears of the end", () => heard.has(before));
      expect(await accepting.find(before, "shop")).toBeDefined();
      await until("the standby has it", () =>
        standbyHas({ standby }, `SELECT id FROM ${schema}.ended WHERE id = '${before}'`),
      );
      await standby.promote();
      proxy.leadNew(standby.port);
      await ask(primary.url, "ALTER SYSTEM SET default_transaction_read_only = on");
      await ask(primary.url, "SELECT pg_reload_conf()");
      // With the next heartbeat, it asks whether it listens in the right place.
      passTime(11_000);
      const after = new Set<string>();
      await until("the new primary has a call, and its end is heard", async () => {
        const id = await accept().catch(() => undefined);
        const isThere = await standbyHas({ standby }, `SELECT id FROM ${schema}.ended WHERE id = '${id}'`);
        if (id !== undefined && isThere) after.add(id);
        return [...after].some((one) => heard.has(one));
      });
      for (const id of after) expect(await accepting.find(id, "shop")).toBeDefined();
    });
  },
);

describe.skipIf(SKIPPED !== undefined)(
  `connections, when the database has moved (${SKIPPED ?? "PostgreSQL"})`,
  { timeout: 120_000 },
  () => {
    interface Reached {
      readonly server: number;
      readonly pid: number;
    }

    /** Two servers that both go on, and a process whose new connections lead to the first. */
    async function startMove() {
      const [old, next] = (await Promise.all([
        startPostgres({ fsync: "off" }),
        startPostgres({ fsync: "off" }),
      ])) as [TestPostgres, TestPostgres];
      onTestFinished(() => Promise.all([old.stop(), next.stop()]).then(() => {}));
      const proxy = await startProxy(old.port);
      const open = (where: "a URL" | "a pool"): (() => Promise<Reached>) & { connections: Connections } => {
        const url = proxy.url(old.url);
        const pool = where === "a URL" ? undefined : new pg.Pool({ connectionString: url });
        pool?.on("error", () => {});
        const connections = new Connections(pool === undefined ? { url } : { pool });
        onTestFinished(() => connections.close().then(() => pool?.end()));
        const text = `SELECT ${SERVER_START} AS server, pg_backend_pid() AS pid`;
        const reached = async (): Promise<Reached> => {
          const [row] = await connections.query<Reached>("read", { text });
          return row as Reached;
        };
        return Object.assign(reached, { connections });
      };
      return { next, proxy, open };
    }

    it.each(["a URL", "a pool"] as const)(
      "are made anew once a heartbeat has reached another server, since the old one may go on: with %s",
      async (where) => {
        const { next, proxy, open } = await startMove();
        const reached = open(where);
        const before = await reached();
        expect(reached.connections.server.keepTo(before.server)).toBe(false);
        proxy.leadNew(next.port);
        expect(await reached()).toEqual(before);
        const { server } = await open(where)();
        expect(reached.connections.server.keepTo(server)).toBe(true);
        const after = await reached();
        expect(after.server).toBe(server);
        expect(await reached()).toEqual(after);
        expect(reached.connections.server.keepTo(server)).toBe(false);
        expect(await reached()).toEqual(after);
      },
    );

    it("are not made anew for each command from when the old server ends until a heartbeat has reached the other", async () => {
      const { next, proxy, open } = await startMove();
      const reached = open("a URL");
      const before = await reached();
      reached.connections.server.keepTo(before.server);
      proxy.lead(next.port);
      let after = before;
      await until("the other server answers", async () => {
        after = await reached().catch(() => before);
        return after.server !== before.server;
      });
      for (let times = 0; times < 3; times += 1) expect(await reached()).toEqual(after);
      reached.connections.server.keepTo(after.server);
      expect(await reached()).toEqual(after);
    });
  },
);

function settingsTo(port: number) {
  const endpoints = [{ url: `http://127.0.0.1:${port}/` }];
  return { sources: [{ name: "shop", destinations: [{ name: "main", endpoints }] }] };
}

async function epochOn({ url }: TestPostgres, schema: string): Promise<number> {
  const rows = await ask<{ epoch: number }>(url, `SELECT epoch::int FROM ${schema}.worker`);
  return rows[0]?.epoch ?? 0;
}
