import type { PostgresClient } from "@countersign/postgres";
import { postgresDedupe } from "@countersign/postgres/dedupe";
import type { Duration } from "@countersign/protocol";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { startProxy } from "./support/proxy.ts";
import {
  ask,
  connectTo,
  newSchema,
  NO_POSTGRES,
  startPostgres,
  type TestPostgres,
} from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `dedupe over connections that fail (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A store on one connection through a proxy, which has created its table. */
    async function openStore(timeout: Duration) {
      const proxy = await startProxy(Number(new URL(url).port));
      const pool = new pg.Pool({ connectionString: proxy.url(url), max: 1 });
      pool.on("error", () => {});
      onTestFinished(() => pool.end());
      const table = newSchema();
      // The first connection and the table take the time that they take.
      await postgresDedupe(pool, { table, timeout: "20s" }).claim("first");
      const store = postgresDedupe(pool, { table, timeout, lease: "10m" });
      const elsewhere = new pg.Pool({ connectionString: url, max: 1 });
      onTestFinished(() => elsewhere.end());
      return { proxy, store, other: postgresDedupe(elsewhere, { table, timeout: "20s" }) };
    }

    it("fails a claim whose connection breaks, and does not end the process", async () => {
      const { proxy, store } = await openStore("20s");
      proxy.cutBeforeAnswer(["broken"], 1);
      await expect(store.claim("broken")).rejects.toThrow("terminated");
      expect(await store.claim("next")).toBe("new");
    });

    it("does not leave the pool short of a connection that never answers", async () => {
      const { proxy, store } = await openStore("1s");
      const held = proxy.holdAnswer(["silent"]);
      const silent = Promise.resolve(store.claim("silent")).catch((error: unknown) => error);
      await until("it was asked", held.isHeld);
      expect(String(await silent)).toContain("did not answer within 1000 ms");
      await until("another claim gets a connection", async () => {
        const claim = await Promise.resolve(store.claim("next")).catch(() => undefined);
        return claim !== undefined;
      });
    });

    it("connects anew where the database has become read-only, as after a failover", async () => {
      const primary = (await startPostgres({ fsync: "off" })) as TestPostgres;
      onTestFinished(() => primary.stop());
      const proxy = await startProxy(primary.port);
      const pool = new pg.Pool({ connectionString: proxy.url(primary.url), max: 1 });
      pool.on("error", () => {});
      onTestFinished(() => pool.end());
      const store = postgresDedupe(pool, { table: newSchema(), timeout: "20s" });
      expect(await store.claim("first")).toBe("new");
      proxy.leadNew(Number(new URL(url).port));
      await ask(primary.url, "ALTER SYSTEM SET default_transaction_read_only = on");
      await ask(primary.url, "SELECT pg_reload_conf()");
      // The connection has learnt it once it runs the next command.
      await until("it is refused", () =>
        Promise.resolve(store.claim("refused")).then(
          () => false,
          (error: unknown) => {
            expect(error).toMatchObject({ code: "25006" });
            return true;
          },
        ),
      );
      expect(await store.claim("next")).toBe("new");
    });

    it("gives back a claim whose answer was lost, so that a repeat need not wait for the lease", async () => {
      const { proxy, store, other } = await openStore("20s");
      proxy.cutBeforeAnswer(["lost"], 1);
      await expect(store.claim("lost")).rejects.toThrow("terminated");
      await until("a repeat is handled", async () => (await other.claim("lost")) === "new");
    });

    it.each([
      ["the table, as beside ALTER TABLE", (table: string) => `LOCK TABLE ${table}`],
      ["another claim", (table: string) => `INSERT INTO ${table} VALUES ('late', 'other', now())`],
    ])(
      "takes nothing with a claim that waits for %s until nobody waits for its answer: repeats would wait for the lease",
      async (_, lock) => {
        const table = newSchema();
        const pool = new pg.Pool({ connectionString: url });
        pool.on("error", () => {});
        onTestFinished(() => pool.end());
        await postgresDedupe(pool, { table, timeout: "20s" }).claim("first");
        // The claim is sent on this connection, which is the only one.
        const { rows } = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        let connected = 0;
        // The release is lost.
        const connect = (): Promise<PostgresClient> => {
          connected += 1;
          return connected > 1 ? Promise.reject(new Error("no more connections")) : pool.connect();
        };
        const store = postgresDedupe({ connect }, { table, timeout: "500ms", lease: "10m" });
        const locker = await connectTo(url);
        onTestFinished(() => locker.end());
        await locker.query(`BEGIN; ${lock(table)}`);
        await expect(store.claim("late")).rejects.toThrow(/did not answer within 500 ms|lock timeout/);
        const isThere = async (condition: string): Promise<boolean> =>
          (await ask(url, `SELECT FROM pg_stat_activity WHERE pid = ${rows[0]?.pid} AND (${condition})`))
            .length > 0;
        const isActive = "state = 'active'";
        const isEarly = `query NOT LIKE 'WITH%' OR ${isActive} AND clock_timestamp() - query_start < interval '600 ms'`;
        await until("its time is over", async () => !(await isThere(isEarly)));
        await locker.query("ROLLBACK");
        await until("it has ended", async () => !(await isThere(isActive)));
        expect(await ask(url, `SELECT key FROM ${table}`)).toEqual([{ key: "first" }]);
      },
    );

    it("needs no privilege to create tables where its table exists, and creates one that was dropped", async () => {
      const name = newSchema();
      const columns = "key text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL";
      await ask(
        url,
        `CREATE ROLE ${name} LOGIN PASSWORD 'a'; CREATE SCHEMA ${name}; CREATE TABLE ${name}.handled (${columns});
         GRANT USAGE ON SCHEMA ${name} TO ${name}; GRANT SELECT, INSERT, UPDATE, DELETE ON ${name}.handled TO ${name}`,
      );
      const pool = new pg.Pool({
        connectionString: Object.assign(new URL(url), { username: name, password: "a" }).href,
      });
      onTestFinished(() => pool.end());
      const store = postgresDedupe(pool, { table: `${name}.handled`, timeout: "20s" });
      expect(await store.claim("a")).toBe("new");
      await store.commit("a");
      await ask(url, `GRANT CREATE ON SCHEMA ${name} TO ${name}; DROP TABLE ${name}.handled`);
      expect(await store.claim("a")).toBe("new");
    });

    it("does not remove a claim that takes a key over while what is over is being removed", async () => {
      const table = newSchema();
      const pool = new pg.Pool({ connectionString: url });
      onTestFinished(() => pool.end());
      const store = postgresDedupe(pool, { table, timeout: "20s" });
      await store.claim("first");
      const over = "'dead', clock_timestamp() - interval '1 s'";
      await ask(url, `INSERT INTO ${table} VALUES ('taken over', ${over}), ('over', ${over})`);
      const receiver = new pg.Client({ connectionString: url });
      await receiver.connect();
      onTestFinished(() => receiver.end());
      // What a claim does, before it is committed.
      await receiver.query("BEGIN");
      await receiver.query(
        `UPDATE ${table} SET holder = 'alive', until = clock_timestamp() + interval '1 min' WHERE key = 'taken over'`,
      );
      const now = performance.now() + 120_000;
      const late = vi.spyOn(performance, "now").mockReturnValue(now);
      await Promise.resolve(store.claim("second")).finally(() => late.mockRestore());
      await until("the removal waits for the claim", async () => {
        const waiting = await ask(
          url,
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM "${table}"%'`,
        );
        return waiting.length === 1;
      });
      await receiver.query("COMMIT");
      const keys = async (): Promise<unknown> => ask(url, `SELECT key FROM ${table} ORDER BY key`);
      await until("what is over is removed", async () => !JSON.stringify(await keys()).includes('"over"'));
      expect(await keys()).toEqual([{ key: "first" }, { key: "second" }, { key: "taken over" }]);
    });

    it("removes all that is over in one turn: what comes faster than it goes would fill the disk", async () => {
      const table = newSchema();
      const pool = new pg.Pool({ connectionString: url });
      onTestFinished(() => pool.end());
      const store = postgresDedupe(pool, { table, timeout: "20s" });
      await store.claim("first");
      await ask(
        url,
        `INSERT INTO ${table} SELECT 'key ' || n, 'done', clock_timestamp() - interval '1 s' FROM generate_series(1, 5000) AS n`,
      );
      const now = performance.now() + 120_000;
      const late = vi.spyOn(performance, "now").mockReturnValue(now);
      await Promise.resolve(store.claim("second")).finally(() => late.mockRestore());
      const left = async (): Promise<unknown> => ask(url, `SELECT count(*)::int AS count FROM ${table}`);
      const claims = [{ count: 2 }];
      await until(
        "only claims are left",
        async () => JSON.stringify(await left()) === JSON.stringify(claims),
      );
      expect(await left()).toEqual(claims);
    });
  },
);
