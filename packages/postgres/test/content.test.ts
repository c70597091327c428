import { randomBytes } from "node:crypto";
import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { cursorOf, type Settlement } from "@countersign/sender/store";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { delivering } from "./support/delivering.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `what a message contains (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    async function openStore() {
      const schema = newSchema();
      const store = postgresStore({ url, schema });
      const failures: string[] = [];
      const failed = ({ message }: Error): void => void failures.push(message);
      await store.open({ ...quietContext(systemClock()), failed });
      onTestFinished(() => store.close());
      const { handler, ended } = delivering();
      const accept = (...ids: string[]) =>
        store.accept(
          acceptanceOf(ids.map((id) => ({ id, destination: "shop/crm", acceptedAt: Date.now() }))),
        );
      return { schema, store, failures, handler, ended, accept };
    }

    it("may be a user id and the name of an event of 10 KB, which no index has room for", async () => {
      const { store, handler, ended } = await openStore();
      // Random: a text that repeats itself is compressed.
      // The database counts characters, of which this is one of two units.
      const [identity, event] = [
        `𝄞${randomBytes(5_000).toString("hex")}`,
        `${randomBytes(5_000).toString("hex")}é`,
      ];
      const other = `${identity.slice(0, -1)}x`;
      const destination = "shop/crm";
      const acceptedAt = Date.now();
      await store.accept(acceptanceOf([{ id: "d1", destination, acceptedAt, identity, event }]));
      await store.accept(acceptanceOf([{ id: "d2", destination, acceptedAt, identity: other, event: "b" }]));
      const found = async (filter: Parameters<typeof store.list>[0]): Promise<readonly string[]> =>
        (await store.list(filter)).map(({ id }) => id);
      const expectFound = async (): Promise<void> => {
        expect(await found({ identity })).toEqual(["d1"]);
        expect(await found({ identity: [identity, other] })).toEqual(["d2", "d1"]);
        expect(await found({ event })).toEqual(["d1"]);
        expect(await found({ q: identity })).toEqual(["d1"]);
        expect(await found({ q: event.slice(0, 9_000) })).toEqual(["d1"]);
        expect(await found({ q: event.slice(0, 3) })).toEqual(["d1"]);
        expect(await found({ q: `${event.slice(0, 9_000)}!` })).toEqual([]);
      };
      await expectFound();
      store.consume(destination, 10, handler);
      await until("both are delivered", () => ended.size === 2);
      await expectFound();
    });

    it("is found by how the name of its event begins, also where what indexes have of it ends within a character that is written as two", async () => {
      const { store } = await openStore();
      const events = ["\0", "\uF8FF"].map((character) => `${"x".repeat(399)}${character}y`);
      const deliveries = events.map((event, index) => ({
        id: `d${index}`,
        destination: "shop/crm",
        acceptedAt: 1,
        event,
      }));
      await store.accept(acceptanceOf(deliveries));
      for (const q of ["x", "x".repeat(399)])
        expect((await store.list({ q })).map(({ id }) => id)).toEqual(["d1", "d0"]);
      for (const [index, event] of events.entries())
        for (const q of [event, event.slice(0, 400)])
          expect((await store.list({ q })).map(({ id }) => id)).toEqual([`d${index}`]);
    });

    it("has ids and events in the order of their characters, whatever the locale of the database", async ({
      skip,
    }) => {
      const english = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'";
      const made = await ask(url, `CREATE DATABASE english TEMPLATE template0 ${english}`).catch(
        () => undefined,
      );
      skip(made === undefined, "this server has no other locale");
      const store = postgresStore({ url: Object.assign(new URL(url), { pathname: "/english" }).href });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const about = { destination: "shop/crm", acceptedAt: Date.now() };
      const deliveries = ["a", "B", "_", "A"].map((id) => ({ ...about, id, event: `${id} event` }));
      await store.accept(acceptanceOf(deliveries));
      const ids = (await store.list({})).map(({ id }) => id);
      expect(ids).toEqual(["a", "_", "B", "A"]);
      expect((await store.list({ q: "A" })).map(({ id }) => id)).toEqual(["A"]);
      const after = cursorOf({ acceptedAt: about.acceptedAt, id: "_" });
      expect((await store.list({ after })).map(({ id }) => id)).toEqual(["B", "A"]);
    });

    it("is gone when it is removed, with what endpoints have answered", async () => {
      const { schema, store, handler, ended, accept } = await openStore();
      const attempt = {
        startedAt: Date.now(),
        durationMs: 1,
        endpoint: "https://example.com/",
        response: "",
      };
      const failure = { ...attempt, round: 1, outcome: "server_error", status: 503 } as const;
      const success = { ...attempt, round: 2, outcome: "success", status: 200 } as const;
      await accept("d1");
      store.consume("shop/crm", 10, {
        ...handler,
        deliver: async ({ rounds }): Promise<Settlement> =>
          rounds === 0
            ? { state: "pending", dueAt: Date.now(), rounds: 1, progress: {}, attempts: [failure] }
            : { state: "delivered", endedAt: Date.now(), attempts: [success] },
      });
      await until("it is delivered in the second round", () => ended.size === 1);
      const left = (): Promise<readonly unknown[]> =>
        ask(url, `SELECT 1 FROM ${schema}.message UNION ALL SELECT 1 FROM ${schema}.attempt`);
      expect(await left()).toHaveLength(2);
      expect(await store.remove({})).toBe(1);
      expect(await left()).toEqual([]);
    });

    it("may be a trait of a user with such an id", async () => {
      const { store } = await openStore();
      const user = randomBytes(5_000).toString("hex");
      const other = `${user.slice(0, -1)}x`;
      const change = (version: string, values: readonly (readonly [string, string | null])[]) =>
        store.accept({
          ...acceptanceOf([]),
          traits: {
            source: "shop",
            trait: "plan",
            owner: { kind: "audience", name: "Plan" },
            version,
            values: new Map([["shop/crm", new Map(values)]]),
          },
        });
      const known = async () =>
        (await store.traits("shop", "plan", ["shop/crm"])).values.get("shop/crm") ?? new Map();
      await change("0", [
        [user, "1"],
        [other, "2"],
      ]);
      await change("1", [[user, "3"]]);
      expect(await known()).toEqual(
        new Map([
          [user, "3"],
          [other, "2"],
        ]),
      );
      await change("2", [[user, null]]);
      expect(await known()).toEqual(new Map([[other, "2"]]));
    });

    it("is searched by numbers and times of any size", async () => {
      const { store, accept } = await openStore();
      await accept("d1");
      const huge = 99_999_999_999;
      expect(await store.list({ status: huge })).toEqual([]);
      expect(await store.list({ status: [200, huge] })).toEqual([]);
      expect(await store.list({ after: "9999999999999999.x" })).toHaveLength(1);
      await expect(store.list({ after: "99999999999999999999.x" })).rejects.toThrow("is not a cursor");
      expect(await store.count({ since: Number.NEGATIVE_INFINITY, until: 1e300 })).toBe(1);
    });

    it("keeps nothing else from being settled, when the database does not take it", async () => {
      const { schema, store, failures, handler, ended, accept } = await openStore();
      await ask(
        url,
        `CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'too long' USING ERRCODE = '54000'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON ${schema}.ended FOR EACH ROW WHEN (NEW.id = 'bad') EXECUTE FUNCTION ${schema}.refuse()`,
      );
      const others = Array.from({ length: 20 }, (_, index) => `good-${index}`);
      await accept("bad", ...others);
      store.consume("shop/crm", 50, handler);
      await until("the others are settled", () => others.every((id) => ended.has(id)));
      await until("it is told", () => failures.join().includes("too long"));
      await accept("later");
      await until("one that came later is settled", () => ended.has("later"));
      expect(ended.has("bad")).toBe(false);
      await ask(url, `DROP TRIGGER refuse ON ${schema}.ended`);
      await until("it is settled as soon as the database takes it", () => ended.has("bad"));
    });

    it("is accepted and settled although another process has removed the day that it falls on", async () => {
      const { schema, store, handler, ended, accept } = await openStore();
      store.consume("shop/crm", 50, handler);
      await accept("before");
      await until("the first is delivered", () => ended.has("before"));
      // Every day that there is: the next one may begin at any moment.
      const days = await ask<{ name: string }>(
        url,
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits
         WHERE inhparent IN ('${schema}.message'::regclass, '${schema}.ended'::regclass)`,
      );
      await ask(url, `DROP TABLE ${days.map(({ name }) => name).join(", ")}`);
      await accept("after");
      await until("the next is delivered", () => ended.has("after"));
      expect(await ask(url, `SELECT id FROM ${schema}.ended`)).toEqual([{ id: "after" }]);
    });
  },
);
