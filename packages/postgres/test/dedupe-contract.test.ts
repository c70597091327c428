import { postgresDedupe } from "@countersign/postgres/dedupe";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { testDedupeStore, type OpenStore } from "../../core/test/support/dedupe-contract.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres();

describe.skipIf(server === undefined)(
  `the contract of a DedupeStore (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    const pools = [1, 2].map(() => new pg.Pool({ connectionString: server?.url, max: 10 })) as [
      pg.Pool,
      pg.Pool,
    ];

    afterAll(async () => {
      for (const pool of pools) await pool.end();
      await server?.stop();
    });

    testDedupeStore("postgresDedupe", (): OpenStore => {
      // A busy machine takes longer to answer than a webhook may wait.
      const options = { table: newSchema(), timeout: "20s" } as const;
      const [one, other] = pools;
      /** Lets the time of some rows pass: the database is told that it is over. */
      const expire = async (which: string): Promise<void> => {
        await one.query(
          `UPDATE ${options.table} SET until = clock_timestamp() - interval '1 second' WHERE ${which}`,
        );
      };
      return {
        store: postgresDedupe(one, options),
        elsewhere: postgresDedupe(other, options),
        passLease: () => expire("holder <> 'done'"),
        passTtl: () => expire("true"),
      };
    });

    it("asks the database once for each claim, commit and release", async () => {
      const [pool] = pools;
      let queries = 0;
      const counting = {
        connect: async () => {
          const client = await pool.connect();
          return new Proxy(client, {
            get(target, name) {
              if (name === "query") queries += 1;
              const value: unknown = Reflect.get(target, name);
              return typeof value === "function" ? value.bind(target) : value;
            },
          });
        },
      };
      const store = postgresDedupe(counting, { table: newSchema(), timeout: "20s" });
      await store.claim("first: creates the table");
      queries = 0;
      await store.claim("a");
      await store.commit("a");
      await store.claim("b");
      await store.release("b");
      expect(queries).toBe(4);
    });

    it("keeps keys in an order that no upgrade of the system changes, after which an index would not find them", async () => {
      const [pool] = pools;
      const table = newSchema();
      await postgresDedupe(pool, { table, timeout: "20s" }).claim("a");
      const { rows } = await pool.query(
        "SELECT c.collname AS name FROM pg_attribute AS a JOIN pg_collation AS c ON c.oid = a.attcollation WHERE a.attrelid = $1::regclass AND a.attname = 'key'",
        [table],
      );
      expect(rows).toEqual([{ name: "C" }]);
    });

    it("gives a key to one of many simultaneous claims also where transactions are isolated strictly", async () => {
      const options = "-c default_transaction_isolation=serializable";
      const pool = new pg.Pool({ connectionString: server?.url, max: 10, options });
      onTestFinished(() => pool.end());
      const store = postgresDedupe(pool, { table: newSchema(), timeout: "20s" });
      await store.claim("first: creates the table");
      for (let key = 0; key < 50; key += 1) {
        const claims = await Promise.all(Array.from({ length: 10 }, async () => store.claim(`key ${key}`)));
        expect(claims.filter((claim) => claim === "new")).toHaveLength(1);
        expect(claims.filter((claim) => claim === "in-flight")).toHaveLength(9);
      }
    });

    it("fails when the database does not answer in time, so that the sender repeats the delivery", async () => {
      const silent = { connect: () => new Promise<never>(() => {}) };
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const told: string[] = [];
      const store = postgresDedupe(silent, { timeout: "1h" });
      void Promise.resolve(store.claim("a")).catch(({ message }: Error) => told.push(message));
      await vi.advanceTimersByTimeAsync(3_599_999);
      expect(told).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(told).toEqual([expect.stringContaining("PostgreSQL did not answer within 3600000 ms")]);
    });

    it("refuses wrong options with the name that was meant", () => {
      expect(() => postgresDedupe(pools[0], { tll: 1 } as never)).toThrow('did you mean "ttl"?');
      expect(() => postgresDedupe(pools[0], { table: "a; DROP TABLE b" })).toThrow("must be a name");
      expect(() => postgresDedupe({} as never)).toThrow("connect() is missing");
    });
  },
);
