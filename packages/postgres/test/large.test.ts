import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { createSender } from "@countersign/sender";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";
const CALLS = 12_000;
const MOST_ROWS = 10_000;

describe.skipIf(server === undefined)(
  `what is too much for one command (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** From now on, the database refuses to store more rows of a table with one command: it would take too long to answer. */
    async function refuseManyRows(schema: string, table: string): Promise<void> {
      await ask(
        url,
        `CREATE FUNCTION ${schema}.few_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF (SELECT count(*) FROM stored) > ${MOST_ROWS} THEN RAISE 'too much at once'; END IF; RETURN NULL; END $$;
         CREATE TRIGGER few AFTER INSERT ON ${schema}.${table} REFERENCING NEW TABLE AS stored
           FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.few_${table}()`,
      );
    }

    it("is stored with several in one transaction: all but the repeats, or nothing", async () => {
      const schema = newSchema();
      const store = postgresStore({ url, schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const about = { destination: "shop/crm", acceptedAt: Date.now() };
      const accept = (deliveries: readonly { readonly id: string; readonly key: string }[]) =>
        store.accept({
          ...acceptanceOf(deliveries.map((delivery) => ({ ...about, ...delivery }))),
          uniqueForMs: 60_000,
        });
      await accept([{ id: "known", key: `k${CALLS - 2}` }]);
      await refuseManyRows(schema, "delivery");
      const calls = Array.from({ length: CALLS }, (_, n) => ({ id: `d${n}`, key: `k${n}` }));
      // The first and the last are in different commands.
      calls.push({ id: "again", key: "k0" });
      expect(await accept(calls)).toEqual({ repeats: [CALLS - 2, CALLS] });
      expect(await store.count({})).toBe(CALLS);
      expect((await store.usage()).get("shop")).toBe(CALLS);

      await ask(url, `ALTER TABLE ${schema}.delivery ADD CHECK (id <> 'refused')`);
      const others = Array.from({ length: CALLS }, (_, n) => ({ id: `o${n}`, key: `o${n}` }));
      await expect(accept([...others, { id: "refused", key: "refused" }])).rejects.toThrow(
        "violates check constraint",
      );
      expect(await store.count({})).toBe(CALLS);
      expect(await accept(others.slice(0, 1))).toEqual({ repeats: [] });
    });

    it("is a large audience, which is synced as a whole", async () => {
      const schema = newSchema();
      const store = postgresStore({ url, schema });
      const sender = await createSender({ url: "http://127.0.0.1:9/", store, deliver: false });
      onTestFinished(() => sender.close());
      for (const table of ["delivery", "known_trait"]) await refuseManyRows(schema, table);
      const members = Array.from({ length: CALLS }, (_, n) => `user ${n}`);
      expect((await sender.syncAudience("VIP", members)).changed).toEqual(members);
      expect(await sender.count({})).toBe(CALLS);
      expect(await sender.syncAudience("VIP", members.slice(1))).toMatchObject({
        changed: [],
        removed: ["user 0"],
      });
    });
  },
);
