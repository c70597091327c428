import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore, type PostgresStoreOptions } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import type { StoreState } from "@countersign/sender/store";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { MIGRATIONS } from "../src/schema/migrations.ts";
import { dayOf, namesOf, startOfDay } from "../src/schema/names.ts";
import { delivering } from "./support/delivering.ts";
import { lacks, programs, serverFolder } from "./support/postgres-programs.ts";
import { ask, connectTo, isFrom, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";

// Its locks are taken, and it makes tablespaces: a server of its own, also where POSTGRES_URL names one.
const server = await startPostgres({
  fsync: "off",
  max_connections: "20",
  max_locks_per_transaction: "10",
});
const url = server?.url ?? "postgres://127.0.0.1";
const limitsTransactions = await isFrom(17, server);
const runbook = readFileSync(new URL("../../../docs/scaling.md", import.meta.url), "utf8");
/** So many are kept, each with 12 tables and indexes that a list locks. */
const DAYS = 30;

/** Runs a program of PostgreSQL. */
function run(program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(join(programs() ?? "", program), args);
  if (status !== 0) throw new Error(String(stderr));
}

function backupFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-backup-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "backup");
}

describe.skipIf(server === undefined)(
  `what an administrator of the database does (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    async function openStore(options: PostgresStoreOptions) {
      const states: StoreState[] = [];
      const store = postgresStore(options);
      const stateChanged = (state: StoreState): void => {
        states.push(state);
        happened();
      };
      const opened = store.open({ ...quietContext(systemClock()), stateChanged });
      onTestFinished(() => store.close());
      const accept = (...ids: readonly string[]) =>
        store.accept(
          acceptanceOf(ids.map((id) => ({ id, destination: "shop/crm", acceptedAt: Date.now() }))),
        );
      return { store, states, opened, accept };
    }

    /** Days of a schema, as a process makes them. */
    async function daysOf(names = namesOf(newSchema())) {
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, names);
      return { connections, names, partitions: new DayPartitions(connections, names) };
    }

    /** Holds a lock until it is told to let go, or the test has ended. */
    async function lock(table: string, mode: string): Promise<() => Promise<void>> {
      const client = await connectTo(url);
      onTestFinished(() => client.end());
      await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
      return async () => void (await client.query("COMMIT"));
    }

    /** Takes locks until there is room for as many as these, which differs from one version of the server to the next. */
    async function leaveLocks(room: number): Promise<void> {
      const client = await connectTo(url);
      onTestFinished(() => client.end());
      const take = async (from: number): Promise<boolean> => {
        const keys = `generate_series(${from}, ${from + room - 1}) AS key`;
        const taken = client.query(`SELECT pg_advisory_lock(key) FROM ${keys}`);
        return taken.then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: "53200" });
            return false;
          },
        );
      };
      for (let from = 0; await take(from); from += room);
      await client.query(`SELECT pg_advisory_unlock(key) FROM generate_series(0, ${room - 1}) AS key`);
    }

    it("analyzes a table while its next day is to be made: no lease waits for that", async () => {
      const { connections, names, partitions } = await daysOf();
      // ANALYZE of a large table holds this lock for minutes.
      const release = await lock(names.table("attempt"), "SHARE UPDATE EXCLUSIVE");
      const making = partitions.ensure([7]);
      const isLate = making.then(
        () => "made",
        (error: unknown) => String(error),
      );
      const beat = connections.query("control", { text: "SELECT 1" }).then(() => "beaten");
      expect(await Promise.race([beat, isLate])).toBe("beaten");
      expect(await isLate).toContain("lock timeout");
      await release();
      await partitions.ensure([7]);
      expect(partitions.has([7])).toBe(true);
    });

    it("moves tables to another tablespace: days that are made later follow, with their indexes", async () => {
      const folder = serverFolder();
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      await ask(url, `CREATE TABLESPACE "Large disk" LOCATION ${pg.escapeLiteral(folder)}`);
      const { names, partitions } = await daysOf();
      await partitions.ensure([7]);
      const tables = [names.table("message"), names.table("message_7")];
      for (const table of tables) await ask(url, `ALTER TABLE ${table} SET TABLESPACE "Large disk"`);
      await ask(url, `ALTER INDEX ${names.table("message_pkey")} SET TABLESPACE "Large disk"`);
      await partitions.ensure([8]);
      const found = await ask<{ name: string }>(
        url,
        `SELECT c.relname AS name FROM pg_class AS c JOIN pg_tablespace AS t ON t.oid = c.reltablespace
         WHERE c.relnamespace = '${names.schema}'::regnamespace AND c.relname ~ '_8' AND t.spcname = 'Large disk' ORDER BY 1`,
      );
      expect(found).toEqual([{ name: "message_8" }, { name: "message_8_pkey" }]);
      await ask(url, `DROP SCHEMA ${names.schema} CASCADE`);
      await ask(url, `DROP TABLESPACE "Large disk"`);
    });

    it("locks a table for longer than lock_timeout: calls are rejected together, and stored as soon as it is free", async () => {
      const schema = newSchema();
      const limited = { url: `${url}?options=-c%20lock_timeout%3D500`, schema };
      const { opened, accept } = await openStore(limited);
      await opened;
      await accept("first");
      const release = await lock(`${schema}.delivery`, "ACCESS EXCLUSIVE");
      const calls = Array.from({ length: 40 }, (_, index) => accept(`call ${index}`));
      const answers = await Promise.allSettled(calls);
      // All of them have failed with one command: one after the other, they would take 20 seconds.
      const errors = answers.map((answer) => answer.status === "rejected" && (answer.reason as Error).cause);
      expect(new Set(errors).size).toBe(1);
      for (const answer of answers) {
        expect(answer).toMatchObject({
          status: "rejected",
          reason: {
            code: "ERR_STORE_FAILED",
            message: expect.stringContaining("A table of the store is locked"),
          },
        });
      }
      await release();
      await accept("later");
      expect(await ask(url, `SELECT id FROM ${schema}.delivery ORDER BY id`)).toEqual([
        { id: "first" },
        { id: "later" },
      ]);
    });

    it("locks a table while a process starts: it waits for it, also where a command may not", async () => {
      const schema = newSchema();
      const limited = { url: `${url}?options=-c%20lock_timeout%3D100`, schema };
      const before = await openStore(limited);
      await before.opened;
      await before.store.close();
      const release = await lock(`${schema}.meta`, "ACCESS EXCLUSIVE");
      const { opened, states } = await openStore(limited);
      await until("it tells what it waits for", () => states.length > 0);
      expect(states[0]).toMatchObject({ state: "down", reason: expect.stringContaining("is locked") });
      await release();
      expect(await opened).toEqual({ generation: 1 });
    });

    // A server without such a limit has nothing to be tested.
    it.each(limitsTransactions ? ["transaction_timeout"] : [])(
      "locks a table while a process starts on a pool whose transactions have a limit (%s, PostgreSQL 17 or later): it tries again",
      async (limit) => {
        const [schema, options] = [newSchema(), `-c ${limit}=1000`];
        const pool = new pg.Pool({ connectionString: url, max: 7, options });
        onTestFinished(() => pool.end());
        const before = await openStore({ pool, schema });
        await before.opened;
        await before.store.close();
        const release = await lock(`${schema}.meta`, "ACCESS EXCLUSIVE");
        const { opened, states } = await openStore({ pool, schema });
        await until("it tells what it waits for", () => states.length > 0);
        expect(states[0]).toMatchObject({
          state: "down",
          reason: expect.stringContaining("longer than statement_timeout or transaction_timeout"),
        });
        await release();
        await opened;
      },
    );

    it("backs a database up while a new version starts: that tells what it waits for", async () => {
      const schema = newSchema();
      const connections = new Connections({ url });
      await migrate(connections, namesOf(schema), MIGRATIONS.slice(0, 1));
      const release = await lock(`${schema}.known_trait`, "ACCESS SHARE");
      const { opened, states, accept } = await openStore({ url, schema });
      await until("it tells what it waits for", () => states.length > 0);
      expect(states[0]).toMatchObject({ state: "down", reason: expect.stringContaining("as by a backup") });
      await release();
      expect(await opened).toEqual({ generation: 1 });
      await accept("call");
      await connections.close();
    });

    it("keeps more days than there is room for locks: a search says what to raise, and calls are accepted", async () => {
      const schema = newSchema();
      const { partitions } = await daysOf(namesOf(schema));
      const today = dayOf(Date.now());
      for (let day = today - DAYS; day < today; day += 1) await partitions.ensure([day]);
      const { opened, store, accept } = await openStore({ url, schema, keep: `${DAYS}d` });
      await opened;
      await leaveLocks(DAYS * 5);
      await expect(store.list({})).rejects.toMatchObject({
        code: "ERR_STORE_FAILED",
        message: expect.stringContaining("Raise max_locks_per_transaction"),
      });
      // Old days may be looked at meanwhile.
      const isAccepted = (): Promise<boolean> =>
        accept("call").then(
          () => true,
          () => false,
        );
      await until("a call is accepted", isAccepted);
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 1 });
    });

    it("drops a day of bodies to make room: what had them fails, and the workers deliver the rest", async () => {
      const schema = newSchema();
      const { opened, store, accept } = await openStore({ url, schema });
      await opened;
      await accept("without", "without too");
      await ask(url, `TRUNCATE ${schema}.message_${dayOf(Date.now())}`);
      await accept("with");
      const { handler, ended } = delivering();
      const consumer = store.consume("shop/crm", 1, handler);
      await until("all have ended", () => ended.size === 3);
      const states = (await store.list({})).map(({ id, state }) => `${id}: ${state}`);
      expect(states.toSorted()).toEqual(["with: delivered", "without too: failed", "without: failed"]);
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 0, delivered: 1, failed: 2 });
      await consumer.stop();
      await expect(store.find("without")).rejects.toMatchObject({
        code: "ERR_STORE_FAILED",
        message: expect.stringContaining("somebody dropped or truncated the table message"),
      });
      // A resend of all that failed goes on with the others.
      const next = { acceptedAt: Date.now() };
      expect(await store.repeat("without", { ...next, id: "copy of nothing" })).toBe(false);
      expect(await store.repeat("with", { ...next, id: "copy" })).toBe(true);
    });

    it("truncates the counts: what the runbook has him run makes them right again, while the processes run", async () => {
      const schema = newSchema();
      const { opened, store, accept } = await openStore({ url, schema });
      await opened;
      const { handler, ended } = delivering();
      const consumer = store.consume("shop/crm", 1, handler);
      await accept("first", "second");
      await until("both are delivered", () => ended.size === 2);
      await consumer.stop();
      await accept("third");
      await ask(url, `TRUNCATE ${schema}.tally`);
      await accept("fourth");
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 1, delivered: 0 });
      const [, sql = ""] = /```sql\n(.*?)```/s.exec(runbook) ?? [];
      await ask(url, sql.replaceAll("countersign.", `${schema}.`));
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 2, delivered: 2 });
      store.consume("shop/crm", 1, handler);
      await until("all are delivered", () => ended.size === 4);
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 0, delivered: 4 });
    });

    const backup =
      "restores a backup of a running store into another database: it goes on there with what was pending";
    it.skipIf(lacks("pg_dump") !== undefined)(`${backup} (${lacks("pg_dump") ?? "pg_dump"})`, async () => {
      const schema = newSchema();
      const { opened, store, accept } = await openStore({ url, schema, lease: "1s" });
      await opened;
      const { handler, ended } = delivering();
      const consumer = store.consume("shop/crm", 50, handler);
      await accept("delivered");
      await until("the first is delivered", () => ended.has("delivered"));
      await consumer.stop();
      // It is being delivered at the time of the backup.
      const endpoint = new AbortController();
      onTestFinished(() => endpoint.abort());
      const answered = once(endpoint.signal, "abort");
      store.consume("shop/crm", 50, {
        ...handler,
        deliver: async (due, signal) => answered.then(() => handler.deliver(due, signal)),
      });
      await accept("under way");
      const claimed = `SELECT FROM ${schema}.delivery WHERE worker IS NOT NULL`;
      await until("it is claimed", async () => (await ask(url, claimed)).length === 1);

      const file = backupFile();
      run("pg_dump", "--format=custom", `--schema=${schema}`, `--file=${file}`, url);
      await ask(url, "CREATE DATABASE restored TEMPLATE template0");
      const restored = Object.assign(new URL(url), { pathname: "/restored" }).href;
      run("pg_restore", "--exit-on-error", `--dbname=${restored}`, file);

      const there = await openStore({ url: restored, schema });
      await there.opened;
      expect(await there.store.find("delivered")).toMatchObject({ state: "delivered" });
      there.store.consume("shop/crm", 50, handler);
      await there.accept("new");
      await until("what was under way is delivered, too", () => ended.has("under way") && ended.has("new"));
      expect(String((await there.store.find("under way"))?.body)).toContain("under way");
      const counts = async () => (await there.store.counts()).get("shop/crm");
      expect(await counts()).toMatchObject({ pending: 0, delivered: 3 });
      // Days are made and removed there.
      const connections = new Connections({ url: restored });
      onTestFinished(() => connections.close());
      const partitions = new DayPartitions(connections, namesOf(schema));
      await partitions.ensure([7]);
      await partitions.removeBefore(startOfDay(dayOf(Date.now()) + 10), 0);
      expect(await counts()).toMatchObject({ delivered: 0 });
    });

    const inPlace = "restores a backup in its place, where the runbook has the schema dropped first";
    it.skipIf(lacks("pg_dump") !== undefined)(`${inPlace} (${lacks("pg_dump") ?? "pg_dump"})`, async () => {
      expect(runbook).toContain("`DROP SCHEMA countersign CASCADE`");
      const database = "restored_in_place";
      await ask(url, `CREATE DATABASE ${database} TEMPLATE template0`);
      const place = Object.assign(new URL(url), { pathname: `/${database}` }).href;
      const first = await openStore({ url: place });
      await first.opened;
      await first.accept("at the backup");
      const file = backupFile();
      run("pg_dump", "--format=custom", `--file=${file}`, place);
      const { handler, ended } = delivering();
      first.store.consume("shop/crm", 50, handler);
      await until("it is delivered", () => ended.has("at the backup"));
      await first.store.close();
      await ask(place, "DROP SCHEMA countersign CASCADE");
      run("pg_restore", "--exit-on-error", `--dbname=${place}`, file);
      const { opened, store } = await openStore({ url: place });
      await opened;
      expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 1, delivered: 0 });
    });

    it.each([
      ["made by this version", MIGRATIONS.length],
      ["made by the first version", 1],
    ])("publishes all tables of a database: an audience is synced in a schema %s", async (_, version) => {
      const database = `publishing_${version}`;
      await ask(url, `CREATE DATABASE ${database}`);
      const there = Object.assign(new URL(url), { pathname: `/${database}` }).href;
      await ask(there, "CREATE PUBLICATION everything FOR ALL TABLES");
      const connections = new Connections({ url: there });
      await migrate(connections, namesOf("countersign"), MIGRATIONS.slice(0, version));
      await connections.close();
      const { opened, store, accept } = await openStore({ url: there });
      await opened;
      await accept("d1");
      const sync = (known: string, value: string | null) =>
        store.accept({
          ...acceptanceOf([]),
          traits: {
            source: "shop",
            trait: "plan",
            owner: { kind: "audience", name: "Plan" },
            version: known,
            values: new Map([["shop/crm", new Map([["u1", value]])]]),
          },
        });
      await sync("0", "1");
      await sync("1", "2");
      await sync("2", null);
      expect((await store.traits("shop", "plan", ["shop/crm"])).version).toBe("3");
      const { handler, ended } = delivering();
      store.consume("shop/crm", 50, handler);
      await until("it is delivered", () => ended.has("d1"));
      expect(await store.remove({})).toBe(1);
    });
  },
);
