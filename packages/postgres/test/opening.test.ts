import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import pg from "pg";
import type { StoreState } from "@countersign/sender/store";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { namesOf } from "../src/schema/names.ts";
import { DeliveryLog } from "../src/tables/delivery-log.ts";
import { readCounts } from "../src/tables/tallies.ts";
import { openBehindProxy } from "./support/open-behind-proxy.ts";
import { freePort } from "../../../tests/support/free-port.ts";
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

const CLOSED_AT_ONCE = fileURLToPath(new URL("support/child-closed-at-once.mjs", import.meta.url));

/** Opens a store that cannot be opened. */
async function refusalOf(where: string): Promise<unknown> {
  const store = postgresStore({ url: where, schema: newSchema(), openWithin: "1h" });
  return store.open(quietContext(systemClock())).catch((error: unknown) => error);
}

describe("a URL that cannot be read", () => {
  it.each([
    ["postgres://user:sec#ret@127.0.0.1/db"],
    ["postgres://user:1#2secret@127.0.0.1/db"],
    ["postgres://user:1/2secret@127.0.0.1/db"],
    ["postgres://user:1?2secret@127.0.0.1/db"],
    ["postgres://user:sec/ret@127.0.0.1/db"],
    ["postgres://user:secret%ff@127.0.0.1/db"],
    ["postgres://user:secret@127.0.0.1:port/db"],
    ["postgres://user:secret@127.0.0.1/db?sslrootcert=/no/such/file"],
  ])("is refused at once, without the password: %s", (where) => {
    let error: unknown;
    try {
      postgresStore({ url: where });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain("postgresStore({ url }) cannot be read");
    expect((error as Error).message).not.toMatch(/sec|ret@/);
  });

  it.each([
    ["several hosts", "postgres://user:secret@one:5432,two:5432/db?target_session_attrs=read-write"],
    ["several hosts", "postgres://one,two/db"],
    ["several hosts", "postgres:///db?host=one,two&port=5432,5433"],
    ["percent codes", "postgres://user:sec,r/et@one/db"],
    ["files on this machine", "postgres://user:secret@one/db?sslmode=verify-full&sslrootcert=/no/such/file"],
  ])("is told by what is wrong with it, %s: %s", (what, where) => {
    const reasons = ["several hosts", "percent codes", "files on this machine"];
    let message = "";
    try {
      postgresStore({ url: where });
    } catch (error) {
      message = String(error);
    }
    expect(reasons.filter((other) => message.includes(other))).toEqual([what]);
  });

  it.each([
    ["postgres://user:p%2Css@127.0.0.1/db"],
    ["postgres://user:p%40ss%2Fword@127.0.0.1/db"],
    ["postgresql://[::1]:5432/db"],
    ["postgres://user:password@/db?host=/run/postgresql"],
    ["postgres:///db?host=/run/postgresql&user=a@b"],
    ["postgres://%2Frun%2Fpostgresql/db"],
    ["postgres://127.0.0.1?application_name=x"],
  ])("is not one of these: %s", (where) => {
    expect(() => postgresStore({ url: where })).not.toThrow();
  });
});

describe("a store that is closed while it is opened", () => {
  it("stops trying", async () => {
    const store = postgresStore({ url: `postgres://127.0.0.1:${await freePort()}/db`, openWithin: "1h" });
    const opening = store.open(quietContext(systemClock())).catch((error: unknown) => error);
    await store.close();
    expect(await opening).toMatchObject({ name: "StoreError" });
  });
});

describe.skipIf(server === undefined)(
  `opening (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("keeps no process running that closes the store as soon as it is open", async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [CLOSED_AT_ONCE, url, newSchema()]);
      // A command that waited for a connection kept it running for 5 to 6 s.
      expect(Number(stdout)).toBeLessThan(4_000);
    });

    it("waits for a database that is away again before the settings were read, and from then on says that it is away", async () => {
      const own = (await startPostgres({ fsync: "off" })) as TestPostgres;
      onTestFinished(() => own.stop());
      const store = postgresStore({ url: own.url });
      const states: StoreState[] = [];
      const stateChanged = (state: StoreState): void => void states.push(state);
      await store.open({ ...quietContext(systemClock()), stateChanged });
      onTestFinished(() => store.close());
      own.signal("SIGKILL");
      const reading = store.settings?.get();
      const writing = store.settings?.put(0, "{}");
      await until("it is told", () => states.at(-1)?.state === "down");
      await own.start();
      await Promise.all([reading, writing]);
      expect(await store.settings?.get()).toEqual({ version: 1, text: "{}" });
      store.settings?.watch(() => {});
      own.signal("SIGKILL");
      const away = {
        code: "ERR_STORE_FAILED",
        message: expect.stringMatching(/^The database cannot be reached: /u),
      };
      // A connection that the server had may break while it is asked, and what was put by it is not known then.
      await vi.waitFor(() => expect(store.settings?.put(1, "")).rejects.toMatchObject(away));
      await vi.waitFor(() => expect(store.settings?.get()).rejects.toMatchObject(away));
    });

    it("says of settings whose answer was lost that they were not read: only of a change is it not known whether it is stored", async () => {
      const { proxy, store } = await openBehindProxy(url);
      store.settings?.watch(() => {});
      proxy.cutBeforeAnswer(["SELECT version, text"], 1);
      await expect(store.settings?.get()).rejects.toMatchObject({
        code: "ERR_STORE_FAILED",
        message: expect.stringMatching(
          /^The database did not answer: .* Check the database and the network to it\. A process that runs reads its settings again by itself/u,
        ),
      });
      proxy.cutBeforeAnswer(["DO NOTHING RETURNING version"], 1);
      await expect(store.settings?.put(0, "{}")).rejects.toMatchObject({ code: "ERR_STORE_UNKNOWN" });
    });

    it("advises to ask for less only who asks for what a filter means: of one delivery, of counts and of settings there is no less", async () => {
      const { proxy, store } = await openBehindProxy(url);
      store.settings?.watch(() => {});
      const adviceOn = async (text: string, ask: () => Promise<unknown>): Promise<string> => {
        proxy.cutBeforeAnswer([text], 1);
        const error = await ask().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toMatchObject({ code: "ERR_STORE_FAILED" });
        return /Ask for less|Ask again|Check the database/u.exec((error as Error).message)?.[0] ?? "";
      };
      expect(await adviceOn("SELECT DISTINCT ON", () => store.list({}))).toBe("Ask for less");
      expect(await adviceOn("SELECT count(*)", () => store.count({ type: "track" }))).toBe("Ask for less");
      expect(await adviceOn("WHERE true ORDER BY", () => store.skipped({}))).toBe("Ask for less");
      expect(await adviceOn("find_source", () => store.find("d1"))).toBe("Ask again");
      expect(await adviceOn("AS count FROM", () => store.count({}))).toBe("Ask again");
      expect(await adviceOn("counts_", () => store.counts())).toBe("Ask again");
      expect(await adviceOn("usage_", () => store.usage())).toBe("Ask again");
      expect(await adviceOn("SELECT version, text", async () => store.settings?.get())).toBe(
        "Check the database",
      );
    });

    it("does not try again for what the URL lacks, and says what it is", async () => {
      const withoutPassword = url.replace(/:[^:@]+@/u, "@");
      expect(await refusalOf(withoutPassword)).toMatchObject({
        code: "ERR_STORE_OPEN",
        message: expect.stringContaining("asks for a password, and the URL has none"),
      });
      expect(await refusalOf(`${url}?sslmode=verify-full`)).toMatchObject({
        code: "ERR_STORE_OPEN",
        message: expect.stringContaining("does not offer TLS"),
      });
    });

    it.each([
      ["LATIN1", "cannot hold every text"],
      ["SQL_ASCII", "counts bytes, so that a user with a long name in Greek would not be found"],
    ])("refuses a database with the encoding %s, which %s", async (encoding) => {
      const database = `of_${encoding.toLowerCase()}`;
      await ask(url, `CREATE DATABASE ${database} ENCODING '${encoding}' TEMPLATE template0 LOCALE 'C'`);
      const refusal = await refusalOf(Object.assign(new URL(url), { pathname: `/${database}` }).href);
      expect(refusal).toMatchObject({
        code: "ERR_STORE_OPEN",
        message: expect.stringContaining(`The encoding of the database is ${encoding}`),
      });
    });

    it("refuses a server that is older than what the statements need, and says which one it is", async () => {
      const pool = new pg.Pool({ connectionString: url });
      onTestFinished(() => pool.end());
      // As a server of version 13 would answer.
      pool.on("connect", (client) => {
        const query = client.query.bind(client) as (config: { text: string }) => Promise<pg.QueryResult>;
        const text = "SELECT 130014 AS version, 'UTF8' AS encoding";
        client.query = ((config: { text: string }) =>
          query(
            config.text.includes("server_version_num") ? { ...config, text } : config,
          )) as typeof client.query;
      });
      const store = postgresStore({ pool, schema: newSchema() });
      await expect(store.open(quietContext(systemClock()))).rejects.toMatchObject({
        code: "ERR_STORE_OPEN",
        message: expect.stringContaining("The server has the version 130014"),
      });
    });

    it("needs no privilege to create schemas where the schema exists, and says what it needs there", async () => {
      const schema = newSchema();
      await ask(
        url,
        `CREATE ROLE ${schema} LOGIN PASSWORD 'a'; CREATE SCHEMA ${schema}; GRANT CREATE ON SCHEMA ${schema} TO ${schema};
         REVOKE CREATE ON DATABASE postgres FROM PUBLIC`,
      );
      const open = async (): Promise<unknown> => {
        const asRole = Object.assign(new URL(url), { username: schema, password: "a" }).href;
        const store = postgresStore({ url: asRole, schema });
        onTestFinished(() => store.close());
        return store.open(quietContext(systemClock()));
      };
      await expect(open()).rejects.toMatchObject({
        code: "ERR_STORE_READ_ONLY",
        message: expect.stringContaining("or CREATE and USAGE on the schema"),
      });
      await ask(url, `GRANT USAGE ON SCHEMA ${schema} TO ${schema}`);
      expect(await open()).toEqual({ generation: 0 });
    });

    it.each([
      ["of the user", "ALTER ROLE $ SET default_transaction_read_only = on", ""],
      ["of the URL", "", "options=-c%20default_transaction_read_only%3Don"],
    ])(
      "says at once which setting makes the transactions read-only, and nothing of a primary: one %s",
      async (_title, sql, query) => {
        const schema = newSchema();
        await ask(
          url,
          `CREATE ROLE ${schema} LOGIN PASSWORD 'a'; CREATE SCHEMA ${schema} AUTHORIZATION ${schema}; ${sql.replace("$", schema)}`,
        );
        const where = Object.assign(new URL(url), { username: schema, password: "a", search: query }).href;
        const store = postgresStore({ url: where, schema });
        onTestFinished(() => store.close());
        await expect(store.open(quietContext(systemClock()))).rejects.toMatchObject({
          code: "ERR_STORE_READ_ONLY",
          message: expect.stringMatching(/^The database is no standby.*default_transaction_read_only is on/),
        });
      },
    );

    it("makes the days to come while a backup reads the tables, which holds them until its end", async () => {
      const names = namesOf(newSchema());
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, names);
      const backup = await connectTo(url);
      onTestFinished(() => backup.end());
      // As pg_dump does.
      const tables = ["message", "ended", "attempt"].map(names.table).join(", ");
      await backup.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS SHARE MODE`);
      await new DayPartitions(connections, names).ensure([1]);
      const kept = await ask<{ tables: number; indexes: number }>(
        url,
        `SELECT count(DISTINCT i.inhparent)::int AS tables, count(x.inhrelid)::int AS indexes FROM pg_inherits AS i
           JOIN pg_index AS n ON n.indrelid = i.inhrelid JOIN pg_inherits AS x ON x.inhrelid = n.indexrelid
         WHERE i.inhrelid::regclass::text LIKE '${names.schema.replaceAll('"', "")}.%'`,
      );
      // The keys of all, and the other indexes of what has ended: each belongs to that of the whole table.
      expect(kept).toEqual([{ tables: 3, indexes: 13 }]);
    });

    it("lets two schemas share a pool, also when old days are removed", async () => {
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      onTestFinished(() => pool.end());
      const connections = new Connections({ pool });
      for (const names of [namesOf(newSchema()), namesOf(newSchema())]) {
        await migrate(connections, names);
        const partitions = new DayPartitions(connections, names);
        await partitions.ensure([1]);
        await partitions.removeBefore(Date.now(), 0);
        const [row] = await ask<{ name: string | null }>(
          url,
          `SELECT to_regclass('${names.table("message_1")}')::text AS name`,
        );
        expect(row?.name).toBeNull();
      }
    });

    it("lets two schemas share a pool, also where their names begin alike", async () => {
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      onTestFinished(() => pool.end());
      const connections = new Connections({ pool });
      const begin = newSchema().padEnd(39, "_");
      for (const names of [namesOf(`${begin}1`), namesOf(`${begin}2`)]) {
        await migrate(connections, names);
        const log = new DeliveryLog(connections, names);
        for (const source of [undefined, "shop"]) expect(await log.find("d1", source)).toBeUndefined();
        expect(await readCounts(connections, names)).toEqual(new Map());
      }
    });
  },
);
