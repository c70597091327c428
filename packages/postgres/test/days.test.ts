import { postgresStore } from "@countersign/postgres";
import { virtualClock } from "@countersign/sender/testing";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { inSchema, type Names, namesOf, startOfDay } from "../src/schema/names.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const HOUR_MS = 3_600_000;
const LOCK_TIMEOUT = "55P03";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `the tables of days (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A process on a schema of its own, or of another one. */
    async function processOn(names: Names = namesOf(newSchema())) {
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, names);
      const partitions = new DayPartitions(connections, names);
      const run = (sql: string): Promise<readonly unknown[]> => ask(url, inSchema(names, sql));
      /** Days of a table, in their order. */
      const days = async (table: string): Promise<readonly number[]> => {
        const sql = `SELECT substring(inhrelid::regclass::text FROM '_(-?[0-9]+)"?$')::int AS day
          FROM pg_inherits WHERE inhparent = '$.${table}'::regclass ORDER BY day`;
        return (await ask<{ day: number }>(url, inSchema(names, sql))).map(({ day }) => day);
      };
      return { connections, names, partitions, run, days };
    }

    /** A pending delivery, as a row. */
    const pending = (id: string, acceptedAt: number, worker: string): string =>
      `INSERT INTO $.delivery (source, id, destination, message, message_day, message_id, type, identity, accepted_at, due_at, worker)
       VALUES ('shop', '${id}', 'shop/crm', '${id}', 0, 'm', 'track', 'u', ${acceptedAt}, 0, ${worker})`;

    it("are made for today and tomorrow, so that no call waits for them at midnight", async () => {
      const { partitions, days } = await processOn();
      await partitions.ensureAhead(startOfDay(20_000) + HOUR_MS);
      for (const table of ["message", "ended", "attempt"])
        expect(await days(table)).toEqual([20_000, 20_001]);
    });

    it("are made once by processes that find them missing at the same moment", async () => {
      const one = await processOn();
      const others = await Promise.all(Array.from({ length: 4 }, () => processOn(one.names)));
      for (const day of [1, 2, 3, 4, 5])
        await Promise.all([one, ...others].map(({ partitions }) => partitions.ensure([day])));
      expect(await one.days("ended")).toEqual([1, 2, 3, 4, 5]);
    });

    it("are made by the next command that needs them when they could not be made", async () => {
      const { partitions, run, days } = await processOn();
      await run("ALTER TABLE $.attempt RENAME TO hidden");
      await expect(partitions.ensure([7])).rejects.toThrow("does not exist");
      expect(partitions.has([7])).toBe(false);
      await run("ALTER TABLE $.hidden RENAME TO attempt");
      await partitions.ensure([7]);
      expect(await days("attempt")).toEqual([7]);
      expect(partitions.has([7])).toBe(true);
    });

    it("can be made by an older version after a newer one has changed the tables", async () => {
      const { names, partitions, run, days } = await processOn();
      await run(
        `ALTER TABLE $.ended ADD COLUMN note text NOT NULL DEFAULT '', ADD CHECK (note <> 'wrong');
         ALTER TABLE $.message ALTER COLUMN body SET STORAGE EXTERNAL`,
      );
      await partitions.ensure([7]);
      expect(await days("ended")).toEqual([7]);
      const storage = `SELECT attstorage FROM pg_attribute WHERE attrelid = '${names.table("message_7")}'::regclass AND attname = 'body'`;
      expect(await run(storage)).toEqual([{ attstorage: "e" }]);
    });

    it("have the message of a delivery also before 1970, where a virtual clock may begin", async () => {
      const clock = virtualClock("1969-12-31T23:00:00Z");
      const store = postgresStore({ url, schema: newSchema() });
      await store.open(quietContext(clock));
      onTestFinished(() => store.close());
      const acceptance = acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: clock.now() }]);
      await store.accept(acceptance);
      expect(String((await store.find("d1"))?.body)).toBe(String(acceptance.messages[0]?.body));
    });

    it.each([20_000, -1])(
      "are removed as soon as all of them was kept for long enough, and no sooner: day %i",
      async (day) => {
        const { partitions, run, days } = await processOn();
        await partitions.ensure([day, day + 1, day + 2]);
        await run(`INSERT INTO $.tally (source, destination, day, writer, delivered)
          SELECT 'shop', 'shop/crm', d, 'w', 1 FROM generate_series(${day}, ${day + 2}) AS d`);
        // What has ended in the last millisecond of the day.
        const isOver = startOfDay(day + 1) + 5 * HOUR_MS;
        const left = async (now: number): Promise<unknown> => {
          await partitions.removeBefore(now, 5 * HOUR_MS);
          const counted = await run("SELECT day FROM $.tally ORDER BY day");
          const [ended, message, attempt] = [
            await days("ended"),
            await days("message"),
            await days("attempt"),
          ];
          return { ended, message, attempt, counted: counted.map((row) => (row as { day: number }).day) };
        };
        const all = [day, day + 1, day + 2];
        expect(await left(isOver - 1)).toEqual({ ended: all, message: all, attempt: all, counted: all });
        const later = [day + 1, day + 2];
        expect(await left(isOver)).toEqual({ ended: later, message: all, attempt: all, counted: later });
        // A delivery that ended on the next day needs its message and its attempts for as long.
        const isNextOver = isOver + 24 * HOUR_MS;
        expect(await left(isNextOver - 1)).toMatchObject({ message: all, attempt: all });
        expect(await left(isNextOver)).toMatchObject({ ended: [day + 2], message: later, attempt: later });
        expect(partitions.has([day])).toBe(false);
      },
    );

    it.each([
      ["waits", "NULL"],
      ["is being delivered", "'a worker'"],
    ])("are kept while a delivery %s whose message or attempts they have", async (_, worker) => {
      const { partitions, run, days } = await processOn();
      await partitions.ensure([10, 11, 12]);
      await run(pending("first of its day", startOfDay(11), worker));
      // The other index: of those that wait, or of those that are claimed.
      await run(pending("later", startOfDay(12), worker === "NULL" ? "'a worker'" : "NULL"));
      await run(`UPDATE $.delivery SET attempts = 1`);
      await run(`INSERT INTO $.attempt (source, delivery, token, day, logged_at, log)
        VALUES ('shop', 'first of its day', 'w:1', 11, 0, '[]'), ('shop', 'later', 'w:1', 12, 0, '[]')`);
      await partitions.removeBefore(startOfDay(100), 0);
      expect(await days("ended")).toEqual([]);
      expect(await days("message")).toEqual([11, 12]);
      expect(await days("attempt")).toEqual([11, 12]);
      await run("DELETE FROM $.delivery");
      await partitions.removeBefore(startOfDay(100), 0);
      expect(await days("message")).toEqual([]);
    });

    it("are removed however many deliveries wait: a command that looks at all of them would get no answer in time", async () => {
      const { connections, partitions, run, days } = await processOn();
      await partitions.ensure([10, 11, 12]);
      await run(`INSERT INTO $.delivery
          (source, id, destination, message, message_day, message_id, type, identity, accepted_at, due_at, attempts)
        SELECT 'shop', 'd' || i, 'shop/off', 'm', 10, 'm', 'track', 'u', ${startOfDay(10)}, 0, 1 FROM generate_series(1001, 6000) AS i`);
      await run(`INSERT INTO $.attempt (source, delivery, token, day, logged_at, log)
        VALUES ('shop', 'd1001', 'w:1', 10, 0, '[]'), ('shop', 'd6000', 'w:1', 11, 0, '[]'), ('shop', 'ended', 'w:1', 12, 0, '[]')`);
      const asked = vi.spyOn(connections, "query");
      await partitions.removeBefore(startOfDay(100), 0);
      const looks = asked.mock.calls.filter(([, { text }]) => text.includes('"attempt" AS a'));
      expect(looks.length).toBeGreaterThanOrEqual(3);
      expect(await days("message")).toEqual([10]);
      expect(await days("attempt")).toEqual([10, 11]);
    });

    /** A store with a delivery, and what stores a second one: a call, a sync, or a repetition of the first. */
    async function storeAt(time: string) {
      const [clock, names] = [virtualClock(time), namesOf(newSchema())];
      const store = postgresStore({ url, schema: names.schema.replaceAll('"', "") });
      await store.open(quietContext(clock));
      onTestFinished(() => store.close());
      const acceptance = (id: string) =>
        acceptanceOf([{ id, destination: "shop/crm", acceptedAt: clock.now() }]);
      await store.accept(acceptance("first"));
      const traits = {
        source: "shop",
        trait: "plan",
        owner: { kind: "audience", name: "Plan" },
        version: "0",
        values: new Map([["shop/crm", new Map([["u1", "1"]])]]),
      } as const;
      const ways = {
        call: () => store.accept(acceptance("second")),
        sync: () => store.accept({ ...acceptance("second"), traits }),
        repetition: () => {
          const [message] = acceptance("second").messages;
          return store.repeat("first", { id: "second", acceptedAt: clock.now(), message });
        },
      };
      return { clock, names, store, ways };
    }

    const WAYS = ["call", "sync", "repetition"] as const;

    it.each(WAYS)("are made for a %s that is the first of its day", async (way) => {
      const { clock, store, ways } = await storeAt("2027-02-27T23:59:59Z");
      await clock.advance(48 * HOUR_MS);
      await ways[way]();
      expect(await store.find("second")).toMatchObject({ state: "pending", acceptedAt: clock.now() });
      expect(String((await store.find("second"))?.body)).not.toBe("");
    });

    it.each(WAYS)("are made again for a %s after another process has removed them", async (way) => {
      const { names, store, ways } = await storeAt("2027-02-27T12:00:00Z");
      const other = await processOn(names);
      // By its clock they are old.
      await other.run("UPDATE $.delivery SET accepted_at = 0");
      await other.partitions.removeBefore(Date.parse("2029-01-01T00:00:00Z"), 0);
      expect(await other.days("message")).toEqual([]);
      await ways[way]();
      expect(await store.find("second")).toMatchObject({ state: "pending" });
      expect((await store.counts()).get("shop/crm")?.pending).toBe(2);
    });

    it("are removed by processes that look for them at the same moment", async () => {
      const one = await processOn();
      const other = await processOn(one.names);
      await one.partitions.ensure([1, 2, 3]);
      /** One that has waited for the other for half a second, on a busy machine, looks again. */
      const remove = (partitions: DayPartitions): Promise<void> =>
        partitions.removeBefore(startOfDay(100), 0).catch((error: { readonly code?: string }) => {
          if (error.code !== LOCK_TIMEOUT) throw error;
          return remove(partitions);
        });
      await Promise.all([one, other].map(({ partitions }) => remove(partitions)));
      expect(await one.days("ended")).toEqual([]);
    });

    it("are removed later while a backup reads them: what comes behind a removal that waits would wait, too", async () => {
      const { names, partitions, days } = await processOn();
      await partitions.ensure([1]);
      const backup = await connectTo(url);
      onTestFinished(() => backup.end());
      await backup.query(`BEGIN; LOCK TABLE ${names.table("ended_1")} IN ACCESS SHARE MODE`);
      await expect(partitions.removeBefore(startOfDay(100), 0)).rejects.toThrow("lock timeout");
      await backup.query("COMMIT");
      await partitions.removeBefore(startOfDay(100), 0);
      expect(await days("ended")).toEqual([]);
    });
  },
);
