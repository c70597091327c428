import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { READ_SETTINGS, SETTINGS } from "../src/database/own-pool.ts";
import { delivering } from "./support/delivering.ts";
import { startProxy } from "./support/proxy.ts";
import { NO_PGBOUNCER, startPgbouncer } from "./support/start-pgbouncer.ts";
import { ask, isFrom, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const pooler = server === undefined ? undefined : await startPgbouncer(server.url);
const MESSAGES = 50;
/** Connections to the server that PgBouncer makes at most, and so the store uses some of them. */
const POOLED = 10;
const NAMES = Object.keys(SETTINGS);

afterAll(async () => {
  await pooler?.stop();
  await server?.stop();
});

/** What other programs find set on connections at this place, on as many at once as a pooler has. */
async function foundAt(url: string): Promise<readonly object[]> {
  const clients = Array.from({ length: POOLED }, () => new pg.Client({ connectionString: url }));
  const found: object[] = [];
  for (const client of clients) {
    await client.connect();
    onTestFinished(() => client.end());
    // A transaction keeps its connection to the server, so that the next one gets another.
    await client.query("BEGIN");
    const { rows } = await client.query<{ name: string; setting: string }>(
      "SELECT name, setting FROM pg_settings WHERE name = ANY ($1)",
      [NAMES],
    );
    found.push(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])));
  }
  for (const client of clients) await client.query("COMMIT");
  return found;
}

/** The settings that the server is too old for. */
async function missing(): Promise<readonly string[]> {
  return (await isFrom(17, server)) ? [] : ["transaction_timeout"];
}

describe.skipIf(pooler === undefined)(
  `a pooler in transaction mode (${server === undefined ? NO_POSTGRES : pooler === undefined ? NO_PGBOUNCER : "PgBouncer"})`,
  () => {
    it("passes none of the store's settings on to other programs", async () => {
      const store = postgresStore({ url: pooler?.url, schema: newSchema() });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const { handler, ended } = delivering();
      store.consume("shop/crm", 50, handler);
      const acceptedAt = Date.now();
      await Promise.all(
        Array.from({ length: MESSAGES }, (_, index) =>
          store.accept(acceptanceOf([{ id: `d${index}`, destination: "shop/crm", acceptedAt }])),
        ),
      );
      await until("all are delivered", () => ended.size === MESSAGES);
      await store.list({});
      const [unchanged = {}] = await foundAt(server?.url ?? "");
      expect(NAMES.filter((name) => !(name in unchanged))).toEqual(await missing());
      for (const found of await foundAt(pooler?.url ?? "")) expect(found).toEqual(unchanged);
    });
  },
);

describe.skipIf(pooler === undefined)(
  `a pooler whose connection to the server breaks (${server === undefined ? NO_POSTGRES : pooler === undefined ? NO_PGBOUNCER : "PgBouncer"})`,
  () => {
    it("does not know whether a call was stored, and the call is delivered: its claim would else stay for good", async () => {
      const proxy = await startProxy(server?.port ?? 0);
      const broken = await startPgbouncer(proxy.url(server?.url ?? ""));
      onTestFinished(() => broken?.stop());
      const schema = newSchema();
      const store = postgresStore({ url: broken?.url, schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const { handler, ended } = delivering();
      store.consume("shop/crm", 10, handler);
      const accept = (id: string) =>
        store.accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt: Date.now() }]));
      // Once a lane has claimed and found nothing more, what is stored is claimed as it is stored.
      for (const id of ["first", "second", "third"]) {
        await accept(id);
        await until("it is delivered", () => ended.has(id));
      }
      const cut = proxy.cutBeforeAnswer(["lost"], 1);
      await expect(accept("lost")).rejects.toMatchObject({ code: "ERR_STORE_UNKNOWN" });
      expect(cut()).toBe(1);
      await until("it is delivered", () => ended.has("lost"));
    });
  },
);

describe.skipIf(server === undefined)(
  `a connection to the server itself (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    function connect(): Connections {
      const connections = new Connections({ url: server?.url ?? "" });
      onTestFinished(() => connections.close());
      return connections;
    }

    it("is set for what it is used for", async () => {
      const connections = connect();
      const settingsOf = async (purpose: "work" | "read"): Promise<readonly string[]> => {
        const text = "SELECT name, setting FROM pg_settings WHERE name = ANY ($1) AND source = 'session'";
        const rows = await connections.query<{ name: string; setting: string }>(purpose, { text }, [NAMES]);
        return rows.map(({ name, setting }) => `${name} ${setting}`).toSorted();
      };
      const unknown = await missing();
      const known = (settings: Readonly<Record<string, string>>): readonly string[] =>
        Object.entries(settings)
          .filter(([name]) => !unknown.includes(name))
          .map(([name, setting]) => `${name} ${setting}`)
          .toSorted();
      expect(await settingsOf("work")).toEqual(known(SETTINGS));
      expect(await settingsOf("read")).toEqual(known(READ_SETTINGS));
    });

    it("leaves no command running on the server that nobody waits for any more", async () => {
      const connections = connect();
      await expect(connections.query("read", { text: "SELECT pg_sleep(600)" })).rejects.toThrow(
        "no answer within 5 s",
      );
      const sql = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'";
      await until("it has ended", async () => (await ask(server?.url ?? "", sql)).length === 0);
    });

    it("has what commands need, whatever its role has been given", async () => {
      const url = server?.url ?? "";
      const schema = newSchema();
      await ask(
        url,
        `CREATE ROLE ${schema} LOGIN PASSWORD 'a'; CREATE SCHEMA ${schema} AUTHORIZATION ${schema};
         ALTER ROLE ${schema} SET default_transaction_isolation = 'serializable'; ALTER ROLE ${schema} SET array_nulls = off`,
      );
      const own = Object.assign(new URL(url), { username: schema, password: "a" }).href;
      const failures: string[] = [];
      const failed = ({ message }: Error): void => void failures.push(message);
      const [one, other] = [postgresStore({ url: own, schema }), postgresStore({ url: own, schema })];
      const { handler, ended } = delivering();
      const bodies: string[] = [];
      for (const store of [one, other]) {
        await store.open({ ...quietContext(systemClock()), failed });
        onTestFinished(() => store.close());
        store.consume("shop/crm", 10, {
          ...handler,
          deliver: (due, signal) => {
            bodies.push(Buffer.from(due.body).toString());
            return handler.deliver(due, signal);
          },
        });
      }
      const ids = Array.from({ length: 200 }, (_, index) => `d${index}`);
      const acceptedAt = Date.now();
      await Promise.all(
        ids.map((id, index) =>
          (index % 2 === 0 ? one : other).accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt }])),
        ),
      );
      await Promise.all(ids.map((id) => one.repeat(id, { id: `again-${id}`, acceptedAt: Date.now() })));
      await until("all are delivered", () => ended.size === ids.length * 2);
      expect(failures).toEqual([]);
      expect(bodies).not.toContain("NULL");
    });

    it.each([
      ["off", "local"],
      ["remote_write", "remote_write"],
    ])(
      "has what it stores on the disk, and listens for as long as it likes, where its role says synchronous_commit = %s",
      async (given, expected) => {
        const url = server?.url ?? "";
        const role = newSchema();
        await ask(
          url,
          `CREATE ROLE ${role} LOGIN PASSWORD 'a'; ALTER ROLE ${role} SET synchronous_commit = ${given};
           ALTER ROLE ${role} SET idle_session_timeout = '1min'; GRANT CREATE ON DATABASE postgres TO ${role}`,
        );
        const own = Object.assign(new URL(url), { username: role, password: "a" }).href;
        const connections = new Connections({ url: own });
        onTestFinished(() => connections.close());
        const settings = {
          text: "SELECT current_setting('synchronous_commit') AS disk, current_setting('idle_session_timeout') AS idle",
        };
        for (const purpose of ["work", "control"] as const)
          expect(await connections.query(purpose, settings)).toMatchObject([{ disk: expected }]);
        const listening = await connections.dedicated();
        onTestFinished(() => listening.release(true));
        expect((await listening.query(settings)).rows).toMatchObject([{ idle: "0" }]);
        const pool = new pg.Pool({ connectionString: own });
        onTestFinished(() => pool.end());
        const store = postgresStore({ pool, schema: role });
        onTestFinished(() => store.close());
        const opening = store.open(quietContext(systemClock()));
        if (given !== "off") await opening;
        else await expect(opening).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
      },
    );

    it("calls no function of another user that is found before the server's own", async () => {
      const url = server?.url ?? "";
      const schema = newSchema();
      // In public everybody may make one: in PostgreSQL 14, and in databases that come from there.
      await ask(
        url,
        `CREATE ROLE ${schema} LOGIN PASSWORD 'a'; CREATE SCHEMA ${schema} AUTHORIZATION ${schema}; CREATE SCHEMA others_${schema};
         GRANT USAGE ON SCHEMA others_${schema} TO ${schema}; ALTER ROLE ${schema} SET search_path = others_${schema};
         CREATE FUNCTION others_${schema}.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$`,
      );
      const store = postgresStore({
        url: Object.assign(new URL(url), { username: schema, password: "a" }).href,
        schema,
      });
      const failures: string[] = [];
      await store.open({ ...quietContext(systemClock()), failed: ({ message }) => failures.push(message) });
      onTestFinished(() => store.close());
      const { handler, ended } = delivering();
      store.consume("shop/crm", 10, handler);
      await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: Date.now() }]));
      await until("it is delivered", () => ended.has("d1"));
      expect(await store.list({ q: "d1" })).toHaveLength(1);
      expect(failures).toEqual([]);
    });
  },
);
