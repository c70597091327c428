import { type PostgresClient, postgresStore } from "@countersign/postgres";
import { postgresDedupe } from "@countersign/postgres/dedupe";
import { systemClock } from "@countersign/protocol";
import type { StoreState } from "@countersign/sender/store";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { migrate } from "../src/schema/migrate.ts";
import { namesOf } from "../src/schema/names.ts";
import { WorkerTable } from "../src/workers/worker-table.ts";
import { delivering } from "./support/delivering.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

/** What a store must read as it is written, whatever a connection makes of numbers, times, bytes and quotes. */
const ODD = 'é\0\\x41 \\101 "{}", NULL \u{1F600}';

/** Types whose parsers an app replaces: numbers, times, texts, bytes, and arrays of them. */
const REPLACED = [16, 17, 20, 21, 23, 25, 26, 114, 701, 1000, 1001, 1005, 1007, 1009, 1016, 1022, 1114, 1184];

/** Has an app parse all that a database answers in a way of its own, until the test has ended. */
function replaceParsers(): void {
  // Its types know fewer numbers than there are.
  const types = pg.types as unknown as Record<
    "getTypeParser" | "setTypeParser",
    (type: number, parser?: unknown) => unknown
  >;
  for (const type of REPLACED) {
    const before = types.getTypeParser(type);
    onTestFinished(() => void types.setTypeParser(type, before));
    types.setTypeParser(type, (text: string) => ({ text }));
  }
}

describe.skipIf(server === undefined)(
  `connections that an app sets as it likes (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    function poolWith(config: pg.PoolConfig): pg.Pool {
      const pool = new pg.Pool({ connectionString: url, max: 7, ...config });
      pool.on("error", () => {});
      onTestFinished(() => pool.end());
      return pool;
    }

    /** Stores, finds, delivers and repeats a call; resolves to how many were delivered then. */
    async function useStore(config: pg.PoolConfig): Promise<number> {
      const states: StoreState[] = [];
      const store = postgresStore({ pool: poolWith(config), schema: newSchema() });
      await store.open({ ...quietContext(systemClock()), stateChanged: (state) => states.push(state) });
      onTestFinished(() => store.close());
      const acceptedAt = Date.now();
      const about = { destination: "shop/crm", acceptedAt, identity: ODD, event: ODD };
      const first = acceptanceOf([{ ...about, id: `d1 ${ODD}`, key: ODD }]);
      const accept = (acceptance: typeof first) => store.accept({ ...acceptance, uniqueForMs: 60_000 });
      expect(await accept(first)).toEqual({ repeats: [] });
      expect(await accept(first)).toEqual({ repeats: [] });
      expect(await accept(acceptanceOf([{ ...about, id: "d2", key: ODD }]))).toEqual({ repeats: [0] });
      const found = await store.find(`d1 ${ODD}`, "shop");
      expect(found).toMatchObject({ acceptedAt, identity: ODD, event: ODD, state: "pending" });
      expect(Buffer.from(found?.body ?? []).toString()).toBe(String(first.messages[0]?.body));
      const { handler, ended } = delivering();
      store.consume("shop/crm", 5, handler);
      await until("it is delivered", () => ended.size === 1);
      expect(await store.repeat(`d1 ${ODD}`, { id: "copy", acceptedAt })).toBe(true);
      await until("its copy is delivered", () => ended.has("copy"));
      expect(states.filter(({ state }) => state !== "up")).toEqual([]);
      return store.count({ state: "delivered" });
    }

    it.each([
      "extra_float_digits=-15",
      "bytea_output=escape",
      "client_encoding=LATIN1",
      "standard_conforming_strings=off",
      "default_transaction_isolation=serializable",
      "search_path=nowhere",
      "row_security=off",
      "DateStyle=SQL,DMY",
    ])("are used with %s, and nothing that is stored reads otherwise", async (setting) => {
      expect(await useStore({ options: `-c ${setting}` })).toBe(2);
    });

    it("answer as ever where the app has replaced the parsers of the driver, which said that the database is read-only", async () => {
      replaceParsers();
      expect(await useStore({})).toBe(2);
    });

    it("answer a claim of a receiver as ever, too: each delivery was taken for one that is being handled", async () => {
      replaceParsers();
      const store = postgresDedupe(poolWith({}), { table: newSchema(), timeout: "20s" });
      expect(await store.claim("a")).toBe("new");
      await store.commit("a");
      expect(await store.claim("a")).toBe("done");
    });

    it("are refused if they ask for binary values, with the reason: the schema was taken for a newer one", async () => {
      const store = postgresStore({ pool: poolWith({ binary: true } as pg.PoolConfig), schema: newSchema() });
      await expect(store.open(quietContext(systemClock()))).rejects.toMatchObject({
        code: "ERR_STORE_OPEN",
        message: expect.stringContaining("`binary` is true"),
      });
    });

    it("find a dead worker as it was seen, also where each writes times in a zone of its own", async () => {
      const names = namesOf(newSchema());
      const connections = new Connections({ pool: poolWith({ max: 1 }) });
      await migrate(connections, names);
      const workers = new WorkerTable(connections, names);
      const joining = { leaseMs: 1, delivers: true, isVirtual: false };
      await workers.join({ ...joining, id: "dead" });
      await workers.join({ ...joining, id: "alive" });
      const [, dead] = await workers.beat("alive", 1, 10_000, 1);
      expect(dead).toMatchObject({ id: "dead" });
      await connections.query("work", { text: "SET TimeZone = 'Pacific/Chatham'; SET DateStyle = German" });
      expect(await workers.remove("dead", dead?.lease_until ?? 0)).toBe(true);
    });

    it("send a command again that met another one, where transactions are isolated more strictly", async () => {
      const table = newSchema();
      await ask(url, `CREATE TABLE ${table} AS SELECT 1 AS n`);
      const other = await connectTo(url);
      onTestFinished(() => other.end());
      const connections = new Connections({
        pool: poolWith({ options: "-c default_transaction_isolation=serializable" }),
      });
      await other.query(`BEGIN; UPDATE ${table} SET n = n + 1`);
      const text = `UPDATE ${table} SET n = n + 1 RETURNING n`;
      const alone = connections.query("work", { text });
      const among = connections.transaction("work", (run) => run(text));
      await until("both wait", async () => {
        const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE ${table}%'`;
        return (await ask(url, waiting)).length === 2;
      });
      await other.query("COMMIT");
      const answers = await Promise.all([alone, among]);
      expect(answers.flat().toSorted()).toEqual(expect.arrayContaining([{ n: 3 }, { n: 4 }]));
    });

    it.each([
      ["42P07", "is there already"],
      ["42710", "has its type there already"],
      ["23505", "has a row in the catalogue already"],
    ])(
      "claim of a receiver whose table, in the words of %s, %s, since another creates it at once: that was a failure",
      async (code) => {
        const pool = new pg.Pool({ connectionString: url });
        onTestFinished(() => pool.end());
        const connect = async (): Promise<PostgresClient> => {
          const client = await pool.connect();
          return {
            on: client.on.bind(client) as PostgresClient["on"],
            release: (error) => client.release(error),
            async query(asked) {
              const answer = await client.query(asked);
              // As if another had created it a moment before.
              if (asked.text.startsWith("CREATE TABLE"))
                throw Object.assign(new Error("already exists"), { code });
              return answer;
            },
          };
        };
        expect(await postgresDedupe({ connect }, { table: newSchema(), timeout: "20s" }).claim("a")).toBe(
          "new",
        );
      },
    );
  },
);
