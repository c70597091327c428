import { type PostgresClient, postgresStore } from "@countersign/postgres";
import { postgresDedupe } from "@countersign/postgres/dedupe";
import { systemClock } from "@countersign/protocol";
import pg from "pg";
import type { DeliveryProgress, DueDelivery, Settlement } from "@countersign/sender/store";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { delivering } from "./support/delivering.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";

type ConnectCallback = Parameters<pg.Pool["connect"]>[0];

const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";
const CONNECTIONS = 7;
const WAITING = 20_000;
const MESSAGES = 1_000;
const USES = 20;

/** Another object for each use of a connection, as of an app that counts or logs what it sends. */
function wrapped(client: pg.PoolClient): PostgresClient {
  return {
    query: (asked) => client.query(asked),
    on: client.on.bind(client),
    off: client.off.bind(client),
    release: (error) => client.release(error),
  };
}

describe.skipIf(server === undefined)(
  `a pool of the user's own (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** Node warns of listeners that gather. A warning comes a moment after its cause. */
    beforeEach(() => {
      const warnings: string[] = [];
      const hear = (warning: Error): unknown => warnings.push(String(warning));
      process.on("warning", hear);
      onTestFinished(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        process.off("warning", hear);
        if (warnings.length > 0) throw new Error(warnings.join("\n"));
      });
    });

    /** A store on a pool with the server's settings, and what it has delivered. */
    async function openStore(schema: string) {
      const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
      onTestFinished(() => pool.end());
      const store = postgresStore({ pool, schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const { handler, ended } = delivering();
      return { pool, store, handler, ended };
    }

    /** The names under which its connections keep commands; the connections are the pool's, one of which listens. */
    async function keptOn(pool: pg.Pool): Promise<readonly string[]> {
      const names: string[] = [];
      const clients = await Promise.all(Array.from({ length: CONNECTIONS - 1 }, () => pool.connect()));
      for (const client of clients) {
        const { rows } = await client.query<{ name: string }>("SELECT name FROM pg_prepared_statements");
        names.push(...rows.map(({ name }) => name));
        client.release();
      }
      return names;
    }

    it("hastens a delivery that is sent meanwhile, and does not forget that an endpoint has rejected it", async () => {
      const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
      onTestFinished(() => pool.end());
      let isRead = false;
      const connect = async (): Promise<PostgresClient> => {
        const client = wrapped(await pool.connect());
        return {
          ...client,
          async query(asked) {
            const answer = await client.query(asked);
            if (isRead || !asked.text.startsWith("SELECT progress")) return answer;
            // A whole round takes place after the delivery was read, and before it is changed.
            isRead = true;
            expect(await store.hasten("d1", "shop")).toBe(true);
            await until("the second round has ended", () => settled.length === 2);
            return answer;
          },
        };
      };
      const store = postgresStore({ pool: { connect }, schema: newSchema() });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const [acceptedAt, rejecting] = [Date.now(), "https://example.com/rejecting"];
      const given: DueDelivery[] = [];
      const settled: string[] = [];
      const round = (rounds: number, progress: DeliveryProgress): Settlement => ({
        state: "pending",
        dueAt: acceptedAt + 3_600_000,
        rounds,
        progress,
        attempts: [],
      });
      store.consume("shop/crm", 1, {
        deliver: async (due) => {
          given.push(due);
          happened();
          if (given.length === 1) return round(1, {});
          if (given.length === 2) return round(2, { [rejecting]: { rejected: true } });
          return { state: "delivered", endedAt: Date.now(), attempts: [] };
        },
        settled: (_, { state }) => {
          settled.push(state);
          happened();
        },
        lost: () => {},
      });
      await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt }]));
      await until("the first round has ended", () => settled.length === 1);

      expect(await store.hasten("d1", "shop")).toBe(true);
      await until("it is delivered", () => settled.includes("delivered"));
      expect(given.at(-1)?.progress).toEqual({ [rejecting]: { rejected: true } });
    });

    it.each([
      ["gives the same connection", (client: pg.PoolClient): PostgresClient => client],
      ["wraps a connection each time", wrapped],
    ])("gathers no listeners in a pool that %s", async (_, given) => {
      const schema = newSchema();
      const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
      onTestFinished(() => pool.end());
      const made: pg.PoolClient[] = [];
      pool.on("connect", (client) => made.push(client));
      const own = { connect: async () => given(await pool.connect()) };
      const store = postgresStore({ pool: own, schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const dedupe = postgresDedupe(own, { table: schema, timeout: "20s" });

      for (let use = 0; use < USES; use += 1) {
        await store.counts();
        await dedupe.claim(`call ${use}`);
      }
      expect(made.length).toBeGreaterThan(0);
      // That of the pool, ours while it is used, and those of the connection that listens.
      for (const client of made) expect(client.listenerCount("error")).toBeLessThanOrEqual(3);
    });

    it.each([
      ["for its next use", "used"],
      ["that the app has opened before it is used here", "passed"],
      ["that the app has opened before its pool is passed", "made"],
    ])("outlives a connection that breaks while a pool prepares it %s", async (_, opened) => {
      let breaks = false;
      /** As of an app that sets something on each connection that it takes. */
      class Preparing extends pg.Pool {
        // With a callback, it is `query` of the pool that calls it.
        override connect(): Promise<pg.PoolClient>;
        override connect(callback: ConnectCallback): void;
        override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
          return callback === undefined ? this.#prepared() : super.connect(callback);
        }

        async #prepared(): Promise<pg.PoolClient> {
          const client = await super.connect();
          if (!breaks) return client;
          breaks = false;
          const ended = new Promise((resolve) => client.once("end", () => resolve(undefined)));
          await client.query("SELECT pg_terminate_backend(pg_backend_pid())").catch(() => {});
          await ended;
          return client;
        }
      }
      const pool = new Preparing({ connectionString: url, max: CONNECTIONS });
      onTestFinished(() => pool.end());
      if (opened === "made") await pool.query("SELECT 1");
      const dedupe = postgresDedupe(pool, { table: newSchema(), timeout: "20s" });
      if (opened === "passed") await pool.query("SELECT 1");
      if (opened === "used") await dedupe.claim("call 1");
      breaks = true;
      await expect(dedupe.claim("call 2")).rejects.toThrow(/terminat|not queryable|closed/);
      await expect(dedupe.claim("call 2")).resolves.toBeDefined();
    });

    it("keeps no plan of a command for many deliveries: one from an empty table would be used for a full one", async () => {
      const schema = newSchema();
      const { pool, store, handler, ended } = await openStore(schema);
      store.consume("shop/crm", 50, handler);
      const calls = Array.from({ length: MESSAGES }, (_, index) => `d${index}`);
      const acceptedAt = Date.now();
      await Promise.all(
        calls.map((id) => store.accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt }]))),
      );
      await until("all are delivered", () => ended.size === MESSAGES);
      const kept = await keptOn(pool);
      // Others are kept: the question would find those, too.
      expect(kept.some((name) => name.startsWith("beat_"))).toBe(true);
      expect(kept.filter((name) => /^(accept|claim|settle|carry)_/u.test(name))).toEqual([]);
    });

    it("reads no table of pending deliveries from its beginning to its end when it has filled after the start", async () => {
      const schema = newSchema();
      const { store, handler, ended } = await openStore(schema);
      store.consume("shop/crm", 50, handler);
      const [acceptedAt, later] = [Date.now(), Date.now() + 3_600_000];
      await store.accept(acceptanceOf([{ id: "first", destination: "shop/crm", acceptedAt }]));
      await until("the first is delivered", () => ended.has("first"));
      await ask(
        url,
        `INSERT INTO ${schema}.delivery (source, id, destination, message, message_day, message_id, type, identity, accepted_at, due_at)
         SELECT 'shop', 'waiting-' || n, 'shop/other', 'm', 1, 'm' || n, 'track', 'user ' || n, ${acceptedAt}, ${later} FROM generate_series(1, ${WAITING}) AS n`,
      );
      await ask(url, `ANALYZE ${schema}.delivery`);
      const readRows = async (): Promise<{ readonly whole: number; readonly found: number }> => {
        const sql = `SELECT seq_tup_read::int AS whole, idx_scan::int AS found FROM pg_stat_user_tables WHERE schemaname = '${schema}' AND relname = 'delivery'`;
        const [row] = await ask<{ whole: number; found: number }>(url, sql);
        return row ?? { whole: 0, found: 0 };
      };
      const before = await readRows();
      const ids = Array.from({ length: MESSAGES }, (_, index) => `d${index}`);
      await Promise.all(
        ids.map((id) => store.accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt }]))),
      );
      await until("all are delivered", () => ended.size === MESSAGES + 1);
      // A connection reports what it has read within a second or so.
      await until("it is reported", async () => (await readRows()).found >= before.found + MESSAGES);
      expect((await readRows()).whole - before.whole).toBeLessThan(WAITING);
    });
  },
);
