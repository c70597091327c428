import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { cursorOf } from "../../sender/src/delivery/cursor.ts";
import { quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { MIGRATIONS } from "../src/schema/migrations.ts";
import { dayOf, inSchema, namesOf } from "../src/schema/names.ts";
import { delivering } from "./support/delivering.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `a schema that an older version has written (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("of version 3: what is known of the names of events is known of old days and of new ones", async () => {
      const names = namesOf(newSchema());
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      const today = dayOf(Date.now());
      await migrate(connections, names, MIGRATIONS.slice(0, 3));
      await new DayPartitions(connections, names).ensure([today]);
      await migrate(connections, names);
      await new DayPartitions(connections, names).ensure([today, today + 1]);
      const found = await ask(
        url,
        inSchema(
          names,
          `SELECT relname AS table FROM pg_statistic_ext JOIN pg_class AS c ON c.oid = stxrelid
             WHERE stxnamespace = '${names.schema}'::regnamespace ORDER BY relname`,
        ),
      );
      const tables = ["delivery", "ended", `ended_${today}`, `ended_${today + 1}`];
      expect(found).toEqual(tables.map((table) => ({ table })));
    });

    it("of version 3: a day that an administrator has moved into a schema of his own keeps no new version from starting", async () => {
      const schema = newSchema();
      const names = namesOf(schema);
      const today = dayOf(Date.now());
      const archive = `${schema}_archive`;
      await ask(
        url,
        `CREATE ROLE ${schema} LOGIN PASSWORD 'a'; CREATE SCHEMA ${schema} AUTHORIZATION ${schema}; CREATE SCHEMA ${archive}`,
      );
      const own = Object.assign(new URL(url), { username: schema, password: "a" }).href;
      const connections = new Connections({ url: own });
      onTestFinished(() => connections.close());
      await migrate(connections, names, MIGRATIONS.slice(0, 3));
      await new DayPartitions(connections, names).ensure([today - 1, today]);
      await ask(
        url,
        `ALTER TABLE ${names.table(`ended_${today - 1}`)} SET SCHEMA ${archive}; GRANT USAGE ON SCHEMA ${archive} TO ${schema}`,
      );
      const store = postgresStore({ url: own, schema });
      onTestFinished(() => store.close());
      expect(await store.open(quietContext(systemClock()))).toEqual({ generation: 1 });
    });

    it("of version 3, whose tables another user owns: says at once that the user has to own them", async () => {
      const schema = newSchema();
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, namesOf(schema), MIGRATIONS.slice(0, 3));
      await ask(
        url,
        `CREATE ROLE ${schema} LOGIN PASSWORD 'a'; GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${schema};
         GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${schema}`,
      );
      const other = Object.assign(new URL(url), { username: schema, password: "a" }).href;
      const store = postgresStore({ url: other, schema, openWithin: "1h" });
      await expect(store.open(quietContext(systemClock()))).rejects.toMatchObject({
        code: "ERR_STORE_READ_ONLY",
        message: expect.stringMatching(/has to own the tables.*must be owner of table ended/u),
      });
    });

    it("of version 3: a writer who waits for an index of what is pending has his turn before the next one", async () => {
      const schema = newSchema();
      const names = namesOf(schema);
      const connections = new Connections({ url });
      onTestFinished(() => connections.close());
      await migrate(connections, names, MIGRATIONS.slice(0, 3));
      const writers = await Promise.all([connectTo(url), connectTo(url)]);
      onTestFinished(async () => void (await Promise.all(writers.map((writer) => writer.end()))));
      const [first, second] = writers;
      const write = inSchema(names, "BEGIN; LOCK TABLE $.delivery IN ROW EXCLUSIVE MODE");
      const waiting = async (mode: string): Promise<boolean> => {
        const sql = `SELECT FROM pg_locks WHERE relation = '$.delivery'::regclass AND mode = '${mode}' AND NOT granted`;
        return (await ask(url, inSchema(names, sql))).length > 0;
      };
      await first.query(write);
      const store = postgresStore({ url, schema });
      onTestFinished(() => store.close());
      const opening = store.open(quietContext(systemClock()));
      opening.catch(() => {});
      await until("an index waits for the first writer", () => waiting("ShareLock"));
      const written = second.query(write);
      await until("the second waits for the index", () => waiting("RowExclusiveLock"));
      await first.query("COMMIT");
      await written;
      const [row] = await ask<{ value: string }>(
        url,
        inSchema(names, "SELECT value FROM $.meta WHERE key = 'version'"),
      );
      expect(Number(row?.value)).toBeLessThan(MIGRATIONS.length);
      await second.query("COMMIT");
      expect(await opening).toEqual({ generation: 1 });
    });

    it.each(MIGRATIONS.slice(1).map((_, index) => index + 1))(
      "of version %i: what was pending is delivered, and pages are in the order of the ids within a millisecond",
      async (version) => {
        const schema = newSchema();
        const names = namesOf(schema);
        const connections = new Connections({ url });
        onTestFinished(() => connections.close());
        await migrate(connections, names, MIGRATIONS.slice(0, version));
        const now = Date.now();
        await new DayPartitions(connections, names).ensure([dayOf(now)]);
        const about =
          "source, id, destination, message, message_day, message_id, type, identity, accepted_at";
        const values = `'shop', 'old-' || n, 'shop/crm', 'old-' || n, ${dayOf(now)}, 'm' || n, 'track', 'u', ${now}`;
        const run = (sql: string): Promise<readonly unknown[]> => ask(url, inSchema(names, sql));
        await run(
          `INSERT INTO $.message SELECT 'shop', 'old-' || n, ${dayOf(now)}, '{}' FROM generate_series(1, 100) AS n`,
        );
        // One of them was claimed by a process that is no more.
        await run(`INSERT INTO $.delivery (${about}, due_at, worker, claim)
          SELECT ${values}, ${now}, CASE WHEN n = 1 THEN 'gone' END, CASE WHEN n = 1 THEN 7 END FROM generate_series(1, 2) AS n`);
        await run(`INSERT INTO $.ended (${about}, day, state, ended_at, log)
          SELECT ${values}, ${dayOf(now)}, 'delivered', ${now}, '[]' FROM generate_series(3, 100) AS n`);
        await run(
          `INSERT INTO $.tally VALUES ('shop', 'shop/crm', -1, '', 2, 0, 0, 0), ('shop', 'shop/crm', ${dayOf(now)}, '', 0, 98, 0, 0)`,
        );

        const store = postgresStore({ url, schema });
        await store.open(quietContext(systemClock()));
        onTestFinished(() => store.close());
        const { handler, ended } = delivering();
        store.consume("shop/crm", 10, handler);
        await until("both are delivered", () => ended.size === 2);
        const listed: string[] = [];
        for (let pages = 0; pages < 4; pages += 1) {
          const last = listed.at(-1);
          const after = last === undefined ? {} : { after: cursorOf({ acceptedAt: now, id: last }) };
          const page = await store.list({ destination: "shop/crm", limit: 30, ...after });
          listed.push(...page.map(({ id }) => id));
        }
        const ids = Array.from({ length: 100 }, (_, index) => `old-${index + 1}`);
        expect(listed).toEqual(ids.toSorted().toReversed());
        expect((await store.counts()).get("shop/crm")).toMatchObject({ pending: 0, delivered: 100 });
      },
    );
  },
);
