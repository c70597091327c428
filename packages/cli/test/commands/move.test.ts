import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { freePort } from "../../../../tests/support/free-port.ts";
import { ask, connectTo, NO_POSTGRES, startPostgres } from "../../../postgres/test/support/start-postgres.ts";
import { send } from "../../../server/test/support/http.ts";
import { startReceiver } from "../../../server/test/support/receiver.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { runCommand, startCommand, startServe } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";

const database = await startPostgres({ fsync: "off" });
const url = database?.url ?? "postgres://127.0.0.1/";

/** A database of its own. */
async function newDatabase(name: string): Promise<string> {
  await ask(url, `CREATE DATABASE ${name}`);
  return url.replace(/\/postgres$/, `/${name}`);
}

/** Makes the tables of a store, which the first process that opens it does. */
async function makeTables(store: string): Promise<void> {
  const worker = startCommand(["work", "--store", store]);
  await worker.printed(/Works on/);
  worker.process.kill("SIGTERM");
  await worker.ended;
}

/** A lock of the tests. */
const LOCK = 715_517;

/** What holds up the others. */
interface Hold {
  /** Resolves when somebody is held up. */
  held(): Promise<void>;
  /** Lets those go on that are held up, or breaks their connections: of a process that was killed, they would go on. */
  end(how: "let go" | "break"): Promise<void>;
}

/** Holds up whoever stores more deliveries in a database that has more than `most` already. */
async function holdUp(store: string, most: number): Promise<Hold> {
  const client = await connectTo(store);
  cleanUp(() => client.end());
  await client.query(`SELECT pg_advisory_lock(${LOCK})`);
  await client.query(
    `CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN
        IF (SELECT count(*) FROM countersign.delivery) > ${most} THEN PERFORM pg_advisory_xact_lock_shared(${LOCK}); END IF;
        RETURN NULL;
      END';
     DROP TRIGGER IF EXISTS hold ON countersign.delivery;
     CREATE TRIGGER hold BEFORE INSERT ON countersign.delivery EXECUTE FUNCTION hold()`,
  );
  const waiting = `FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted`;
  return {
    held: () =>
      expect
        .poll(async () => (await client.query(`SELECT pid ${waiting}`)).rows.length, {
          timeout: 60_000,
          interval: 10,
        })
        .toBe(1),
    async end(how) {
      if (how === "break") await client.query(`SELECT pg_terminate_backend(pid) ${waiting}`);
      await client.end();
    },
  };
}

/** What `/api/stats` counts, of all destinations. */
async function countsOf(server: string): Promise<Record<string, number>> {
  const { destinations } = (await send(`${server}/api/stats`)).json() as {
    destinations: Record<"pending" | "delivered" | "failed" | "expired", number>[];
  };
  const sum = { pending: 0, delivered: 0, failed: 0, expired: 0 };
  for (const one of destinations)
    for (const state of ["pending", "delivered", "failed", "expired"] as const) sum[state] += one[state];
  return sum;
}

function batchOf(ids: readonly string[]): object {
  return { batch: ids.map((messageId) => ({ type: "track", messageId, userId: "u1", event: "Ordered" })) };
}

const numbered = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

describe.skipIf(database === undefined)(
  `countersign move (${database === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => database?.stop());

    it("loses and repeats nothing, although the server and the move itself are killed", async () => {
      const store = await newDatabase("killed");
      const data = join(temporaryDirectory(), "data");
      const receiver = closing(await startReceiver("dev"));
      const to = ["--to", receiver.url, "--secret", "dev"];
      const put = async (server: string, path: string, body: object): Promise<Record<string, unknown>> => {
        const response = await send(`${server}${path}`, { method: "PUT", body });
        expect(response.status).toBeLessThan(300);
        return response.json() as Record<string, unknown>;
      };
      const post = async (server: string, path: string, body: object): Promise<void> =>
        expect((await send(`${server}${path}`, { method: "POST", body })).status).toBe(200);

      const old = await startServe([...to, "--data", data]);
      await put(old.url, "/api/sources/shop", { writeKey: "shop-key" });
      const destination = { endpoints: [{ url: receiver.url }], secret: "dev" };
      await put(old.url, "/api/sources/shop/destinations/crm", destination);
      const early = numbered("early", 200);
      await post(old.url, "/v1/batch", { writeKey: "any", ...batchOf(early) });
      await put(old.url, "/api/audiences/Gold", { userIds: ["u1", "u2"], source: "shop" });
      await expect
        .poll(() => countsOf(old.url), { timeout: 60_000 })
        .toMatchObject({ pending: 0, delivered: 202 });
      receiver.down = true;
      const late = numbered("late", 1_500);
      for (let from = 0; from < late.length; from += 500)
        await post(old.url, "/v1/batch", { writeKey: "any", ...batchOf(late.slice(from, from + 500)) });
      await post(old.url, "/v1/batch", { writeKey: "shop-key", ...batchOf(["shop-1"]) });
      old.process.kill("SIGKILL");
      await old.ended;

      const moved = async (): Promise<number> => {
        const count = "SELECT count(*)::int AS count FROM countersign.delivery";
        const [row] = await ask<{ count: number }>(store, count);
        return row?.count ?? 0;
      };
      await makeTables(store);
      for (const some of [100, 600, 1_000]) {
        const hold = await holdUp(store, some);
        const killed = startCommand(["move", data, "--store", store]);
        await hold.held();
        killed.process.kill("SIGKILL");
        await killed.ended;
        await hold.end("break");
        expect(await moved()).toBeGreaterThan(some);
      }
      expect(await moved()).toBeLessThan(1_501);
      const last = await runCommand(["move", data, "--store", store]);
      expect(last.stderr).toBe("");
      expect(last.stdout).toMatch(
        /^Moves .*\nSources {5}shop.*\nRepeats {5}1,701 ids of calls\nProfiles {4}2 values/u,
      );
      expect(last.stdout).toMatch(/\nReady .*\nHistory {5}202 ended deliveries, 0 skipped calls\nStays /u);
      expect(last.code).toBe(0);

      const server = await startServe([...to, "--store", store, "--no-deliver"]);
      expect(await countsOf(server.url)).toEqual({ pending: 1_501, delivered: 202, failed: 0, expired: 0 });
      // What the old server had accepted is a repeat here.
      await post(server.url, "/v1/batch", { writeKey: "any", ...batchOf([...early, ...late, "new-1"]) });
      await post(server.url, "/v1/batch", { writeKey: "shop-key", ...batchOf(["shop-1", "shop-2"]) });
      const left = await put(server.url, "/api/audiences/Gold", { userIds: ["u1"], source: "shop" });
      expect([left["changed"], left["removed"]]).toEqual([[], ["u2"]]);
      receiver.down = false;
      startCommand(["work", "--store", store]);
      startCommand(["work", "--store", store]);
      await post(server.url, "/api/deliveries/retry", { filter: {} });
      const all = { pending: 0, delivered: 1_706, failed: 0, expired: 0 };
      await expect.poll(() => countsOf(server.url), { timeout: 60_000 }).toEqual(all);
      const arrived = receiver.webhooks.map((message) => ("messageId" in message ? message.messageId : ""));
      expect(new Set(arrived).size).toBe(arrived.length);
      expect(arrived).toEqual(expect.arrayContaining([...early, ...late, "shop-1", "shop-2", "new-1"]));
      expect(arrived).toHaveLength(1_706);

      // The folder has its history, and nothing to send.
      const again = await startServe([...to, "--data", data]);
      expect(await countsOf(again.url)).toEqual({ pending: 0, delivered: 202, failed: 0, expired: 0 });
      const sources = (await send(`${server.url}/api/sources`)).json() as { name: string }[];
      expect(sources.map(({ name }) => name)).toEqual(["default", "shop"]);
    }, 240_000);

    it("moves into a database whose servers run already, and says which sources it has left as they are", async () => {
      const store = await newDatabase("running");
      const data = join(temporaryDirectory(), "data");
      const receiver = closing(await startReceiver("dev"));
      const to = ["--to", receiver.url, "--secret", "dev"];
      const addShop = (server: string): Promise<unknown> =>
        send(`${server}/api/sources/shop`, { method: "PUT", body: { writeKey: "shop-key" } });
      receiver.down = true;
      const old = await startServe([...to, "--data", data]);
      await addShop(old.url);
      await send(`${old.url}/v1/track`, {
        method: "POST",
        body: { writeKey: "any", userId: "u1", event: "A" },
      });
      await expect.poll(receiver.attempts).toBeGreaterThan(0);
      const server = await startServe([...to, "--store", store]);
      await addShop(server.url);

      const early = await runCommand(["move", data, "--store", store]);
      expect(early.stderr).toMatch(
        /^countersign: .+data is in use by a countersign serve, or by another move\./u,
      );
      expect(early.code).toBe(2);
      old.process.kill("SIGTERM");
      await old.ended;
      receiver.down = false;
      const { code, stdout } = await runCommand(["move", data, "--store", store]);
      expect(stdout).toContain("\nSources     shop, which the database has already\n");
      expect(stdout).toContain("\nPending     1 delivery\n");
      expect(code).toBe(0);
      await send(`${server.url}/api/deliveries/retry`, { method: "POST", body: { filter: {} } });
      await expect.poll(() => countsOf(server.url)).toMatchObject({ pending: 0, delivered: 1 });
    }, 180_000);

    it("says which source of the directory does not fit those of the database, and moves nothing", async () => {
      const store = await newDatabase("conflict");
      const to = ["--to", "http://127.0.0.1:9/", "--secret", "dev"];
      const addSource = (server: string, name: string): Promise<unknown> =>
        send(`${server}/api/sources/${name}`, { method: "PUT", body: { writeKey: "one-key" } });
      const data = join(temporaryDirectory(), "data");
      const old = await startServe([...to, "--data", data]);
      await addSource(old.url, "shop");
      await send(`${old.url}/v1/track`, {
        method: "POST",
        body: { writeKey: "any", userId: "u1", event: "A" },
      });
      old.process.kill("SIGTERM");
      await old.ended;
      const server = await startServe([...to, "--store", store]);
      await addSource(server.url, "store");
      const { code, stderr } = await runCommand(["move", data, "--store", store]);
      expect(stderr).toMatch(
        /^countersign: The sources of .+ do not fit those of the database\. source "shop": /u,
      );
      expect(stderr).toContain("is also the write key of another source. Nothing was moved.");
      expect(code).toBe(2);
      expect((await countsOf(server.url))["pending"]).toBe(0);
      await expect(ask(store, "SELECT key FROM countersign.seen")).resolves.toEqual([]);
    }, 180_000);

    it("moves the file of a sqliteStore, stops between two parts when it is told to, and says how to continue, also when the database fails", async () => {
      const store = await newDatabase("stopped");
      const data = join(temporaryDirectory(), "data");
      const old = await startServe(["--to", "http://127.0.0.1:9/", "--data", data]);
      for (const name of ["a", "b", "c", "d"])
        await send(`${old.url}/v1/batch`, {
          method: "POST",
          body: { writeKey: "any", ...batchOf(numbered(name, 500)) },
        });
      old.process.kill("SIGTERM");
      await old.ended;
      const file = join(data, "deliveries.db");
      await makeTables(store);
      const hold = await holdUp(store, 0);
      const stopped = startCommand(["move", file, "--store", store]);
      await hold.held();
      stopped.process.kill("SIGTERM");
      await stopped.printed(/SIGTERM: ends after the part that is under way/);
      await hold.end("let go");
      expect(await stopped.ended).toBe(1);
      expect(stopped.stderr()).toContain("Run the same command again, which continues.");

      // The database refuses what comes.
      await ask(
        store,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room''; END'; CREATE TRIGGER refuse BEFORE INSERT ON countersign.delivery EXECUTE FUNCTION refuse()",
      );
      const failed = await runCommand(["move", file, "--store", store]);
      expect(failed.stderr).toMatch(/no room.*\n.*run the same command again, which continues\.\n$/u);
      expect(failed.code).toBe(1);
      await ask(store, "DROP TRIGGER refuse ON countersign.delivery");
      const { code } = await runCommand(["move", file, "--store", store]);
      expect(code).toBe(0);
      const counted = await ask(store, "SELECT count(*)::int AS count FROM countersign.delivery");
      expect(counted).toEqual([{ count: 2_000 }]);
    }, 180_000);
  },
);

describe("countersign move", () => {
  it("refuses what is no data directory before it connects, and makes nothing there", async () => {
    const away = `postgres://127.0.0.1:${await freePort()}/db`;
    const empty = temporaryDirectory();
    const none = join(empty, "none");
    const notThere = await runHere(["move", none, "--store", away]);
    expect([notThere.code, notThere.stderr]).toEqual([
      2,
      `countersign: There is no ${none}. Pass the directory of serve --data.\n`,
    ]);
    const url = await runHere(["move", "postgres://user:pa55word@127.0.0.1/db", "--store", away]);
    expect([url.code, url.stderr]).toEqual([
      2,
      "countersign: What to move is a URL. Pass the directory of serve --data, without file:. The database to move into goes with --store.\n",
    ]);
    const noStore = await runHere(["move", empty, "--store", away]);
    expect(noStore.stderr).toMatch(
      /^countersign: .+ has no deliveries\.db, so it is not a directory of serve --data\./u,
    );
    expect(noStore.code).toBe(2);
    expect(existsSync(join(empty, "deliveries.db"))).toBe(false);
    const text = join(empty, "notes.txt");
    writeFileSync(text, "Not a database at all.");
    mkdirSync(join(empty, "deliveries.db"));
    for (const [from, what] of [
      [
        text,
        "notes.txt is not a SQLite database. Pass the directory of serve --data, or the file of a sqliteStore.",
      ],
      [empty, "deliveries.db: EISDIR"],
    ] as const) {
      const refused = await runHere(["move", from, "--store", away]);
      expect([refused.code, refused.stderr.split("\n").length]).toEqual([2, 2]);
      expect(refused.stderr).toContain(what);
    }
  }, 60_000);
});
