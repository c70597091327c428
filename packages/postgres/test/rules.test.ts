import { postgresStore } from "@countersign/postgres";
import { createSender, type Sender } from "@countersign/sender";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { migrate } from "../src/schema/migrate.ts";
import { MIGRATIONS, type Migration } from "../src/schema/migrations.ts";
import { namesOf } from "../src/schema/names.ts";
import { Suspects } from "../src/workers/suspects.ts";
import type { HeartbeatRow } from "../src/workers/worker-statements.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { startTally } from "./support/tally.ts";

describe("a worker whose lease is over", () => {
  const row = (leaseUntil: string, isOver: boolean): HeartbeatRow =>
    ({ id: "w1", lease_until: leaseUntil, is_over: isOver }) as HeartbeatRow;

  it("is taken over when it is seen twice, with a pause between", () => {
    const suspects = new Suspects(600);
    expect(suspects.confirm([row("10:00:00", true)], 0)).toEqual([]);
    expect(suspects.confirm([row("10:00:00", true)], 599)).toEqual([]);
    expect(suspects.confirm([row("10:00:00", true)], 600)).toHaveLength(1);
  });

  it("is not taken over when it extended its lease meanwhile, though that one is over, too", () => {
    const suspects = new Suspects(600);
    suspects.confirm([row("10:00:00", true)], 0);
    expect(suspects.confirm([row("10:00:01", true)], 700)).toEqual([]);
    suspects.confirm([row("10:00:02", false)], 1_400);
    expect(suspects.confirm([row("10:00:02", true)], 2_100)).toEqual([]);
  });
});

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "";

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

    it("leaves the schema as it was when a step fails", async () => {
      const [tally, schema] = [await startTally(), newSchema()];
      const running = await open(schema, tally.url);
      const steps = [
        { sql: "CREATE TABLE $.extra (id integer)", worksWith: 1 },
        { sql: "ALTER TABLE $.missing ADD COLUMN note text", worksWith: 1 },
      ];
      await expect(upgrade(schema, ...steps)).rejects.toThrow("does not exist");
      const tables = await ask<{ found: string | null }>(
        url,
        `SELECT to_regclass('${schema}.extra') AS found`,
      );
      expect(tables).toEqual([{ found: null }]);
      expect(await deliversTo(running, "Still here")).toEqual(["delivered"]);
    });
  },
);
