import { postgresStore } from "@countersign/postgres";
import { createSender, type Sender } from "@countersign/sender";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { isConflict } from "../src/database/postgres-error.ts";
import { ANSWER_MS } from "../src/database/within.ts";
import { migrate } from "../src/schema/migrate.ts";
import { MIGRATIONS, type Migration } from "../src/schema/migrations.ts";
import { namesOf } from "../src/schema/names.ts";
import { Suspects } from "../src/workers/suspects.ts";
import type { HeartbeatRow } from "../src/workers/worker-statements.ts";
import { untilSettled } from "./support/account.ts";
import { acceptAll, FleetNode } from "./support/fleet.ts";
import { ask, isFrom, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { startTally } from "./support/tally.ts";
import { until } from "./support/until.ts";

/** Calls that are accepted while the schema changes. */
const MESSAGES = 300;

describe("a worker whose lease is over", () => {
  const row = (leaseUntil: number, isOver: boolean): HeartbeatRow =>
    ({ id: "w1", lease_until: leaseUntil, is_over: isOver }) as HeartbeatRow;

  it("is taken over when it is seen twice, with a pause between", () => {
    const suspects = new Suspects(600);
    expect(suspects.confirm([row(10_000_000, true)], 0)).toEqual([]);
    expect(suspects.confirm([row(10_000_000, true)], 599)).toEqual([]);
    expect(suspects.confirm([row(10_000_000, true)], 600)).toHaveLength(1);
  });

  it("is not taken over when it extended its lease meanwhile, though that one is over, too", () => {
    const suspects = new Suspects(600);
    suspects.confirm([row(10_000_000, true)], 0);
    expect(suspects.confirm([row(11_000_000, true)], 700)).toEqual([]);
    suspects.confirm([row(12_000_000, false)], 1_400);
    expect(suspects.confirm([row(12_000_000, true)], 2_100)).toEqual([]);
  });
});

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "";
const limitsTransactions = await isFrom(17, server);

describe.skipIf(server === undefined)(
  `a rolling upgrade (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    async function open(schema: string, to: string): Promise<Sender> {
      const sender = await createSender({ url: to, store: postgresStore({ url, schema }) });
      onTestFinished(() => sender.close({ deadline: 2_000 }));
      return sender;
    }

    /** What a process of the next version does when it starts. */
    async function upgrade(schema: string, ...steps: readonly Migration[]): Promise<void> {
      const connections = new Connections({ url });
      try {
        await migrate(connections, namesOf(schema), [...MIGRATIONS, ...steps]);
      } finally {
        await connections.close();
      }
    }

    async function deliversTo(sender: Sender, event: string): Promise<readonly string[]> {
      const receipt = await sender.track({ userId: "u1", event });
      return (await receipt.settled()).map(({ state }) => state);
    }

    it("lets processes of the old version continue and start, where the new one says that they work", async () => {
      const [tally, schema] = [await startTally(), newSchema()];
      const running = await open(schema, tally.url);
      const sql = "ALTER TABLE $.delivery ADD COLUMN note text; ALTER TABLE $.ended ADD COLUMN note text";
      const step = { sql, worksWith: MIGRATIONS.length };
      await upgrade(schema, step);
      expect(await deliversTo(running, "Before")).toEqual(["delivered"]);
      expect(await deliversTo(await open(schema, tally.url), "After")).toEqual(["delivered"]);
      // The version is still the new one: the step is not made again.
      await upgrade(schema, step);
    });

    it("lets processes of the old version continue, and start no more, where the new one says so", async () => {
      const [tally, schema] = [await startTally(), newSchema()];
      const running = await open(schema, tally.url);
      await upgrade(schema, { sql: "CREATE TABLE $.extra (id integer)", worksWith: MIGRATIONS.length + 1 });
      expect(await deliversTo(running, "Running")).toEqual(["delivered"]);
      await expect(open(schema, tally.url)).rejects.toMatchObject({ code: "ERR_STORE_NEWER" });
    });

    it.each([
      ["works with the old one", MIGRATIONS.length],
      ["knows nothing of the old one", MIGRATIONS.length + 1],
    ])(
      "loses nothing under load when the new version, which %s, changes every table",
      async (_, worksWith) => {
        const [tally, schema] = [await startTally(), newSchema()];
        const start = (role: "ingest" | "worker"): Promise<FleetNode> =>
          FleetNode.start({ url, schema, role, to: tally.url, lease: "2s", concurrency: 10 });
        const [ingest, worker] = await Promise.all([start("ingest"), start("worker"), start("worker")]);
        const accepted = new Set<string>();
        const load = acceptAll(ingest, MESSAGES, accepted);
        await until("it is under load", () => tally.arrivals.size > MESSAGES / 4);
        const tables = await ask<{ name: string }>(
          url,
          `SELECT relname AS name FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
        );
        expect(tables.length).toBeGreaterThan(10);
        const columns = tables.map(
          ({ name }) => `ALTER TABLE $.${name} ADD COLUMN note text NOT NULL DEFAULT ''`,
        );
        const sql = `${columns.join(";")}; CREATE INDEX delivery_note ON $.delivery (note); CREATE INDEX ended_note ON $.ended (note)`;
        const isUpgraded = (): Promise<boolean> =>
          upgrade(schema, { sql, worksWith }).then(
            () => true,
            // Another command was in its way: a process that opens the store tries again, too.
            (error: unknown) => !isConflict(error) && Promise.reject(error as Error),
          );
        await until("the schema is changed", isUpgraded);
        // Half of those that deliver die. Another one can start if the new version says so.
        await worker.kill();
        const another = start("worker").then(
          () => true,
          () => false,
        );
        expect(await another).toBe(worksWith <= MIGRATIONS.length);
        await load;
        const account = await untilSettled({ url, schema }, accepted, tally);
        expect(account).toMatchObject({ accepted: MESSAGES, delivered: MESSAGES, lost: [] });
        expect(account.failed + account.expired + account.pending).toBe(0);
      },
    );

    it("of processes that start at once makes the schema once, and tells each how many came before it", async () => {
      const names = namesOf(newSchema());
      const start = async (): Promise<number> => {
        const connections = new Connections({ url });
        onTestFinished(() => connections.close());
        return (await migrate(connections, names)).generation;
      };
      const generations = await Promise.all([start(), start(), start(), start()]);
      expect(generations.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    });

    it("takes the time that a step needs, such as a new index of all that was kept, and not that of an answer", async () => {
      const schema = newSchema();
      await upgrade(schema, {
        sql: `SELECT pg_sleep(${(ANSWER_MS + 1_000) / 1_000}); CREATE TABLE $.extra (id integer)`,
        worksWith: 1,
      });
      expect(await ask(url, `SELECT to_regclass('${schema}.extra') IS NOT NULL AS made`)).toEqual([
        { made: true },
      ]);
    });

    // A server without such a limit has nothing to be tested.
    it.each(limitsTransactions ? ["a URL", "a pool"] : [])(
      "takes that time also where transactions may take a second at most (PostgreSQL 17 or later): on %s",
      async (which) => {
        const limited = `${url}?options=-c%20transaction_timeout%3D1000`;
        const pool = new pg.Pool({ connectionString: limited });
        onTestFinished(() => pool.end());
        const connections = new Connections(which === "a pool" ? { pool } : { url: limited });
        onTestFinished(() => connections.close());
        const step = { sql: "SELECT pg_sleep(2)", worksWith: 1 };
        expect(await migrate(connections, namesOf(newSchema()), [...MIGRATIONS, step])).toEqual({
          generation: 0,
        });
      },
    );

    it("leaves the schema as it was before the step that fails, and goes on from there when it no longer does", async () => {
      const [tally, schema] = [await startTally(), newSchema()];
      const running = await open(schema, tally.url);
      const taken = { sql: "CREATE TABLE $.extra (id integer)", worksWith: 1 };
      const failing = {
        sql: "CREATE TABLE $.half (id integer); ALTER TABLE $.missing ADD COLUMN note text",
        worksWith: 1,
      };
      const found = (name: string): Promise<readonly unknown[]> =>
        ask(url, `SELECT to_regclass('${schema}.${name}') IS NOT NULL AS there`);
      await expect(upgrade(schema, taken, failing)).rejects.toThrow("does not exist");
      expect(await found("extra")).toEqual([{ there: true }]);
      expect(await found("half")).toEqual([{ there: false }]);
      expect(await deliversTo(running, "Still here")).toEqual(["delivered"]);
      // A step that was taken is not taken again: the table is there.
      await upgrade(schema, taken, { ...failing, sql: "CREATE TABLE $.half (id integer)" });
      expect(await found("half")).toEqual([{ there: true }]);
    });
  },
);
