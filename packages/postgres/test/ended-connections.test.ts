import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { ownPool, READ_SETTINGS } from "../src/database/own-pool.ts";
import { breaksConnection, isUnknown } from "../src/database/postgres-error.ts";
import { storeErrorOf } from "../src/database/store-errors.ts";
import { endingOf, takeFrom } from "../src/database/postgres-pool.ts";
import { ask, isFrom, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres({ fsync: "off" });
const isFrom17 = await isFrom(17, server);

/** As an error of the server. */
function errorOf(code: string): Error {
  return Object.assign(new Error("An error of the server"), { severity: "FATAL", code });
}

/** Keeps this thread, so that nothing is heard of a connection, and the server waits for its next command. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

// The manual of PostgreSQL, appendix A. Poolers end a connection with a code of class 08.
it.each([
  ["08P01", { isUnknown: true, breaks: true }],
  ["08006", { isUnknown: true, breaks: true }],
  ["57P01", { isUnknown: true, breaks: true }],
  ["57P02", { isUnknown: true, breaks: true }],
  ["57P04", { isUnknown: true, breaks: true }],
  ["57P05", { isUnknown: false, breaks: true }],
  ["25P03", { isUnknown: false, breaks: true }],
  ["25P04", { isUnknown: false, breaks: true }],
  ["25006", { isUnknown: false, breaks: true }],
  ["57014", { isUnknown: false, breaks: false }],
  ["55P03", { isUnknown: false, breaks: false }],
  ["40001", { isUnknown: false, breaks: false }],
])("whether %s leaves a connection, and what became of the command, is known", (code, expected) => {
  const error = errorOf(code);
  expect({ isUnknown: isUnknown(error), breaks: breaksConnection(error) }).toEqual(expected);
});

describe.skipIf(server === undefined)(
  `a connection that the server ends (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** Connections of a pool of one. */
    function connect(): Connections {
      const pool = new pg.Pool({ connectionString: server?.url, max: 1 });
      pool.on("error", () => {});
      onTestFinished(() => pool.end());
      return new Connections({ pool });
    }
    const inTransaction = (connections: Connections, set: string): Promise<unknown> =>
      connections.transaction("work", async (run) => {
        await run(set);
        block(200);
        await run("SELECT 1");
      });

    it.each<[code: string, what: string, end: (connections: Connections) => Promise<unknown>]>([
      [
        "25P03",
        "since a transaction idled",
        (connections) => inTransaction(connections, "SET LOCAL idle_in_transaction_session_timeout = '50ms'"),
      ],
      [
        "57P05",
        "since it idled",
        async (connections) => {
          await connections.query("work", { text: "SET idle_session_timeout = '50ms'" });
          block(200);
          await connections.query("work", { text: "SELECT 1" });
        },
      ],
      [
        "57P01",
        "since somebody asked for that",
        (connections) => connections.query("work", { text: "SELECT pg_terminate_backend(pg_backend_pid())" }),
      ],
      ...(isFrom17
        ? ([
            [
              "25P04",
              "since a transaction took too long",
              (connections) => inTransaction(connections, "SET LOCAL transaction_timeout = '50ms'"),
            ],
          ] satisfies [string, string, (connections: Connections) => Promise<unknown>][])
        : []),
    ])("is not used again (%s, %s): the next command would fail with it", async (code, _, end) => {
      const connections = connect();
      await expect(end(connections)).rejects.toMatchObject({ code });
      expect(await connections.query("work", { text: "SELECT 1 AS one" })).toEqual([{ one: 1 }]);
    });

    it.each(["25P03", "57P05"])(
      "is told of by the setting, not by words of the driver, when the server has said so before the next command (%s)",
      async (code) => {
        const setting = code === "25P03" ? "idle_in_transaction_session_timeout" : "idle_session_timeout";
        const connections = connect();
        const idling = connections.transaction("work", async (run) => {
          const [self] = await run<{ pid: number }>("SELECT pg_backend_pid() AS pid");
          if (code === "57P05") await run("COMMIT");
          await run(`SET ${setting} = '50ms'`);
          const there = `SELECT FROM pg_stat_activity WHERE pid = ${self?.pid}`;
          await expect.poll(() => ask(server?.url ?? "", there)).toHaveLength(0);
          await run("SELECT 1");
        });
        const error: unknown = await idling.catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code });
        expect(storeErrorOf(error)).toMatchObject({
          code: "ERR_STORE_FAILED",
          message: expect.stringMatching(`longer than ${setting}, .* raise it for the user`),
        });
        expect(await connections.query("work", { text: "SELECT 1 AS one" })).toEqual([{ one: 1 }]);
      },
    );

    it("is told of by the setting when the server ends it before it has its own settings", async () => {
      const url = `${server?.url}?options=-c%20idle_session_timeout%3D50`;
      const pool = ownPool(url, 1, { settings: READ_SETTINGS, notSet: () => {} });
      onTestFinished(() => pool.end());
      pool.prependListener("connect", () => block(200));
      const client = await takeFrom(pool);
      await expect(client.query({ text: "SELECT 1" })).rejects.toThrow(Error);
      client.release(true);
      expect(endingOf(client)).toMatchObject({ code: "57P05" });
    });

    it("is not used again when its transaction cannot be ended: the next command would be part of that", async () => {
      const pool = new pg.Pool({ connectionString: server?.url, max: 1 });
      onTestFinished(() => pool.end());
      pool.once("connect", (client) => {
        const query = client.query.bind(client) as (config: pg.QueryConfig) => unknown;
        const wrong = (config: pg.QueryConfig): pg.QueryConfig =>
          config.text === "ROLLBACK" ? { text: "SELECT 1 / 0" } : config;
        client.query = ((config: pg.QueryConfig) => query(wrong(config))) as typeof client.query;
      });
      const connections = new Connections({ pool });
      const failing = connections.transaction("work", (run) => run("SELECT 1 / 0"));
      await expect(failing).rejects.toMatchObject({ code: "22012" });
      expect(await connections.query("work", { text: "SELECT 1 AS one" })).toEqual([{ one: 1 }]);
    });

    it("is told of as such to who reads: nothing was to be stored, so what became of it is no question", async () => {
      const reading = connect().query("read", { text: "SELECT pg_terminate_backend(pg_backend_pid())" });
      await expect(reading).rejects.toMatchObject({
        code: "ERR_STORE_FAILED",
        message:
          "The database ended the connection before it had answered: terminating connection due to administrator command. Ask again.",
      });
    });
  },
);
