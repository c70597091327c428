import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { ask, connectTo, NO_POSTGRES, startPostgres, type TestPostgres } from "./support/start-postgres.ts";

const started = await startPostgres({ fsync: "off" });

describe.skipIf(started === undefined)(
  `a database with fewer connections than a process uses (${started === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    const server = started as TestPostgres;
    afterAll(() => started?.stop());

    const user = `few_${process.pid}`;
    const lock = process.pid;

    /** Connections of a user that may have one. */
    async function connectAsFew(): Promise<{ readonly connections: Connections; readonly url: string }> {
      await ask(server.url, `CREATE ROLE ${user} LOGIN PASSWORD 'few' CONNECTION LIMIT 1`);
      const url = new URL(server.url);
      Object.assign(url, { username: user, password: "few" });
      const connections = new Connections({ url: url.href });
      onTestFinished(async () => {
        await connections.close();
        await ask(server.url, `DROP ROLE ${user}`);
      });
      return { connections, url: url.href };
    }

    it("has a command wait for the connection of another one, so that a process that gets on is not said to be cut off", async () => {
      const { connections, url } = await connectAsFew();
      const other = await connectTo(server.url);
      onTestFinished(() => other.end());
      await other.query(`SELECT pg_advisory_lock(${lock})`);
      const first = connections.query("work", { text: `SELECT pg_advisory_lock(${lock})` });
      // Whoever comes now is refused: the one connection waits for the lock.
      const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted`;
      await expect.poll(async () => (await ask(server.url, waiting)).length).toBe(1);
      const second = connections.query<{ one: number }>("control", { text: "SELECT 1 AS one" });
      await expect(connectTo(url)).rejects.toMatchObject({ code: "53300" });
      await other.query(`SELECT pg_advisory_unlock(${lock})`);
      await first;
      expect(await second).toEqual([{ one: 1 }]);
    });

    it("has all that is begun together wait in turn, since one was refused where another had ended meanwhile, and heartbeats never had theirs", async () => {
      const { connections } = await connectAsFew();
      let heartbeats = 0;
      const over = new AbortController();
      const calls = Array.from({ length: 20 }, async () => {
        while (!over.signal.aborted) await connections.query("work", { text: "SELECT pg_sleep(0.002)" });
      });
      const control = async (): Promise<void> => {
        for (; heartbeats < 20; heartbeats += 1) await connections.query("control", { text: "SELECT 1" });
      };
      const beats = control().finally(() => over.abort());
      const refused = (await Promise.allSettled([...calls, beats])).filter(
        ({ status }) => status === "rejected",
      );
      expect(refused).toEqual([]);
      expect(heartbeats).toBe(20);
    }, 60_000);

    it("refuses at once where the process has none, and says how many it needs", async () => {
      const { connections, url } = await connectAsFew();
      const other = await connectTo(url);
      onTestFinished(() => other.end());
      await expect(connections.query("work", { text: "SELECT 1" })).rejects.toMatchObject({ code: "53300" });
    });
  },
);
