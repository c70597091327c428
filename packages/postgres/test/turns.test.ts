import { type Clock, systemClock } from "@countersign/protocol";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { dayOf, inSchema, type Names, namesOf } from "../src/schema/names.ts";
import { Maintenance } from "../src/store/maintenance.ts";
import { WorkerTable } from "../src/workers/worker-table.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const NOW = Date.now();

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

/** Counts its turns, each of which ends when it is told to. */
class Turns extends WorkerTable {
  taken = 0;
  end: Promise<void> = Promise.resolve();

  override async releaseOrphans(): Promise<void> {
    this.taken += 1;
    await this.end;
    await super.releaseOrphans();
  }
}

describe.skipIf(server === undefined)(
  `a turn at removing what was kept for long enough (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A process on a schema of its own, or of another one, and what it does at a time. */
    async function processOn(names: Names = namesOf(newSchema()), keepMs = HOUR_MS) {
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, names);
      const turns = new Turns(connections, names);
      const partitions = new DayPartitions(connections, names);
      let now = NOW;
      const clock: Clock = { ...systemClock(), now: () => now };
      const maintenance = new Maintenance({ connections, names, partitions, workers: turns, clock, keepMs });
      const runAfter = (ms: number): Promise<void> => {
        now = NOW + ms;
        return maintenance.run();
      };
      const run = (sql: string): Promise<readonly unknown[]> => ask(url, inSchema(names, sql));
      return { names, maintenance, turns, runAfter, run };
    }

    const skipped = (count: number, acceptedAt: string): string =>
      `INSERT INTO $.skipped SELECT 'shop', 'id ' || lpad(n::text, 6, '0'), 'm', 'track', 'u', NULL, ${acceptedAt}, 'no_destination'
       FROM generate_series(1, ${count}) AS n`;

    it("is that of one process for half a minute, however many there are", async () => {
      const one = await processOn();
      const others = [await processOn(one.names), await processOn(one.names)];
      await Promise.all([one, ...others].map(({ runAfter }) => runAfter(0)));
      expect([one, ...others].reduce((sum, { turns }) => sum + turns.taken, 0)).toBe(1);
      const [early, late] = [await processOn(one.names), await processOn(one.names)];
      await early.runAfter(MINUTE_MS / 2 - 1);
      expect(early.turns.taken).toBe(0);
      await late.runAfter(MINUTE_MS / 2);
      expect(late.turns.taken).toBe(1);
    });

    it("removes keys and skipped calls also while a backup reads a day that is to be removed", async () => {
      const { names, runAfter, run } = await processOn();
      await runAfter(0);
      const backup = await connectTo(url);
      onTestFinished(() => backup.end());
      await backup.query(`BEGIN; LOCK TABLE ${names.table(`ended_${dayOf(NOW)}`)} IN ACCESS SHARE MODE`);
      await run(skipped(1, "0"));
      await run("INSERT INTO $.seen VALUES ('shop', 'key', 'call', 0)");
      await expect(runAfter(72 * HOUR_MS)).rejects.toThrow("lock timeout");
      expect(await run("SELECT FROM $.skipped UNION ALL SELECT FROM $.seen")).toEqual([]);
    });

    it("is not begun while the process is still busy with the one before", async () => {
      const { turns, runAfter } = await processOn();
      let end = (): void => {};
      turns.end = new Promise((resolve) => (end = resolve));
      const first = runAfter(0);
      await expect.poll(() => turns.taken).toBe(1);
      await runAfter(2 * MINUTE_MS);
      expect(turns.taken).toBe(1);
      end();
      await first;
      await runAfter(4 * MINUTE_MS);
      expect(turns.taken).toBe(2);
    });

    it("begins no command once the store closes", async () => {
      const { maintenance, runAfter, run } = await processOn();
      await run("INSERT INTO $.seen VALUES ('shop', 'key', 'call', 0)");
      maintenance.stop();
      await runAfter(0);
      expect(await run("SELECT key FROM $.seen")).toHaveLength(1);
    });

    it("leaves keys of calls for two days, and for as long as any process has asked for", async () => {
      const { names, maintenance, runAfter, run } = await processOn();
      const other = await processOn(names);
      const after = (ms: number): string =>
        `INSERT INTO $.seen VALUES ('shop', 'key ${ms}', 'call', ${NOW - ms})`;
      const left = async (): Promise<number> => (await run("SELECT key FROM $.seen")).length;
      for (const ms of [48 * HOUR_MS, 48 * HOUR_MS + 1, 72 * HOUR_MS + 1]) await run(after(ms));
      await other.maintenance.keepKeysFor(72 * HOUR_MS);
      // As after a restart: what is asked for now is less.
      await maintenance.keepKeysFor(HOUR_MS);
      await runAfter(0);
      expect(await left()).toBe(2);
      await run("DELETE FROM $.meta WHERE key = 'keep_keys'");
      await other.runAfter(MINUTE_MS);
      expect(await left()).toBe(0);
    });

    it("takes two days for keys when nobody has asked for longer", async () => {
      const { runAfter, run } = await processOn();
      for (const ms of [48 * HOUR_MS, 48 * HOUR_MS + 1])
        await run(`INSERT INTO $.seen VALUES ('shop', '${ms}', 'call', ${NOW - ms})`);
      await runAfter(0);
      expect(await run("SELECT key FROM $.seen")).toEqual([{ key: String(48 * HOUR_MS) }]);
    });

    it("asks again for a longer time for keys when it could not be stored", async () => {
      const { maintenance, run } = await processOn();
      const before = maintenance.keepKeysMs;
      await run("ALTER TABLE $.meta RENAME TO hidden");
      await expect(maintenance.keepKeysFor(before * 2)).rejects.toThrow("does not exist");
      expect(maintenance.keepKeysMs).toBe(before);
      await run("ALTER TABLE $.hidden RENAME TO meta");
      await maintenance.keepKeysFor(before * 2);
      expect(await run("SELECT value::float8 FROM $.meta WHERE key = 'keep_keys'")).toEqual([
        { value: before * 2 },
      ]);
    });

    it("leaves skipped calls for as long as deliveries", async () => {
      const { runAfter, run } = await processOn(undefined, HOUR_MS);
      await run(skipped(2, `${NOW - HOUR_MS - 2} + n`));
      await runAfter(0);
      expect(await run("SELECT id FROM $.skipped")).toEqual([{ id: "id 000002" }]);
    });

    it("leaves the newest 10,000 skipped calls, also of one millisecond", async () => {
      const { runAfter, run } = await processOn();
      await run(skipped(16_000, String(NOW)));
      await runAfter(0);
      const kept = await run(
        "SELECT count(*)::int AS count, min(id) AS oldest, max(id) AS newest FROM $.skipped",
      );
      expect(kept).toEqual([{ count: 10_000, oldest: "id 006001", newest: "id 016000" }]);
    });
  },
);
