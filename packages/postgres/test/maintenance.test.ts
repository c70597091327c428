import { postgresStore } from "@countersign/postgres";
import { type Clock, systemClock } from "@countersign/protocol";
import type { Settlement, StoreState } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { delivering } from "./support/delivering.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const DAY_MS = 86_400_000;

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `what was kept for long enough (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A store, and the states that it tells. */
    async function openStore(schema: string, clock: Clock = systemClock()) {
      const store = postgresStore({ url, schema });
      const states: StoreState[] = [];
      await store.open({ ...quietContext(clock), stateChanged: (state) => void states.push(state) });
      onTestFinished(() => store.close());
      return { store, states };
    }

    it("waits for a clock, and tells by how much that is wrong after it was set again, once", async () => {
      const clock = systemClock();
      let wrongByMs = 5_000;
      const wrong: Clock = { ...clock, now: () => clock.now() + wrongByMs };
      const { states } = await openStore(newSchema(), wrong);
      const reasons = (): readonly string[] => states.map(({ reason = "" }) => reason);
      const isTold = (text: RegExp): boolean => text.test(reasons().at(-1) ?? "");
      await until("it is ahead", () => isTold(/ (?:[34]\.\d|[45]) s ahead of the clock/));
      wrongByMs = -3_600_000;
      await until("it is behind", () => isTold(/ (?:60|59) min behind the clock/));
      expect(reasons().length).toBeLessThan(5);
    });

    it("is not what a process whose clock is a month ahead takes for it", async () => {
      const schema = newSchema();
      const { store } = await openStore(schema);
      const { handler, ended } = delivering();
      store.consume("shop/crm", 10, handler);
      const call = { id: "d1", destination: "shop/crm", acceptedAt: Date.now(), key: "k1" };
      const once = { ...acceptanceOf([call]), uniqueForMs: DAY_MS };
      await store.accept(once);
      await until("it is delivered", () => ended.size === 1);

      const clock = systemClock();
      const ahead: Clock = { ...clock, now: () => clock.now() + 30 * DAY_MS };
      const { states } = await openStore(schema, ahead);
      await until("it knows", () => states.some(({ state }) => state === "unsafe"));
      const beats = async (): Promise<readonly { readonly at: string }[]> =>
        ask(url, `SELECT beat_at::text AS at FROM ${schema}.worker ORDER BY joined DESC LIMIT 1`);
      for (let beat = 0; beat < 3; beat += 1) {
        const before = JSON.stringify(await beats());
        await until("its heart beats", async () => JSON.stringify(await beats()) !== before);
      }
      expect(await store.list({})).toHaveLength(1);
      const again = { ...acceptanceOf([{ ...call, id: "d2" }]), uniqueForMs: DAY_MS };
      expect(await store.accept(again)).toEqual({ repeats: [0] });
    });

    it("goes in one turn, however much it is: what comes faster than it goes would fill the disk", async () => {
      const schema = newSchema();
      const before = postgresStore({ url, schema });
      await before.open(quietContext(systemClock()));
      await before.close();
      const skipped = "'m', 'track', 'u', NULL, 0, 'no_destination'";
      await ask(
        url,
        `INSERT INTO ${schema}.seen SELECT 'shop', 'key ' || n, 'call', 0 FROM generate_series(1, 20000) AS n;
         INSERT INTO ${schema}.skipped SELECT 'shop', 'id ' || n, ${skipped} FROM generate_series(1, 20000) AS n;
         DELETE FROM ${schema}.meta WHERE key = 'swept'`,
      );
      await openStore(schema);
      const left = async (): Promise<number | undefined> => {
        const counts = `(SELECT count(*) FROM ${schema}.seen) + (SELECT count(*) FROM ${schema}.skipped)`;
        return (await ask<{ count: number }>(url, `SELECT (${counts})::int AS count`))[0]?.count;
      };
      // Less than the time until the next turn.
      await until("all are gone", async () => (await left()) === 0, 30_000);
      expect(await left()).toBe(0);
    });

    it.each([1, 2, 3])(
      "is never the body of a delivery that ended %i days after it was accepted, while that one is kept",
      async (days) => {
        const schema = newSchema();
        const clock = virtualClock();
        const acceptedAt = clock.now();
        let aheadMs = 0;
        const { store } = await openStore(schema, { ...clock, now: () => clock.now() + aheadMs });
        const { handler, ended } = delivering();
        const endedAt = acceptedAt + days * DAY_MS;
        const late = {
          ...handler,
          deliver: async () => ({ state: "delivered", endedAt, attempts: [] }) as const,
        };
        store.consume("shop/crm", 10, late);
        const acceptance = acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt }]);
        await store.accept(acceptance);
        await until("it is delivered", () => ended.size === 1);

        // A moment before its last day has been kept for a week.
        aheadMs = (days + 8) * DAY_MS - 60_000;
        const firstDay = Math.floor(acceptedAt / DAY_MS);
        // The messages of a day are kept for a day longer.
        const oldest = days === 1 ? firstDay : firstDay + 1;
        await until("what is older is removed", async () => {
          const [row] = await ask<{ gone: boolean }>(
            url,
            `SELECT to_regclass('${schema}.ended_${firstDay}') IS NULL
               AND to_regclass('${schema}.message_${oldest - 1}') IS NULL AS gone`,
          );
          return row?.gone === true;
        });
        const found = await store.find("d1");
        expect(String(found?.body)).toBe(String(acceptance.messages[0]?.body));
        expect(await store.repeat("d1", { id: "d2", acceptedAt: acceptedAt + aheadMs })).toBe(true);
      },
    );

    it("is the body of a message once for each day, also when several of its deliveries ended days later", async () => {
      const schema = newSchema();
      const clock = virtualClock();
      const { store } = await openStore(schema, clock);
      const { handler, ended } = delivering();
      const endedAt = clock.now() + 2 * DAY_MS;
      const late = {
        ...handler,
        deliver: async () => ({ state: "delivered", endedAt, attempts: [] }) as const,
      };
      const one = acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: clock.now() }]);
      const others = ["d2", "d3"].map((id) => ({ id, destination: "shop/crm", message: 0 }));
      const last = { id: "d4", destination: "shop/mail", message: 0 };
      await store.accept({ ...one, deliveries: [...one.deliveries, ...others, last] });
      store.consume("shop/crm", 10, late);
      await until("three end with one command", () => ended.size === 3);
      store.consume("shop/mail", 10, late);
      await until("the last ends", () => ended.size === 4);
      for (const id of ["d1", "d2", "d3", "d4"])
        expect(String((await store.find(id))?.body)).toBe(String(one.messages[0]?.body));
      expect(await ask(url, `SELECT day FROM ${schema}.message`)).toHaveLength(2);
    });

    it("is every day but those of a delivery that waits for ever, because its destination is disabled", async () => {
      const schema = newSchema();
      const clock = virtualClock();
      const acceptedAt = clock.now();
      const firstDay = Math.floor(acceptedAt / DAY_MS);
      let day = 0;
      const now = (): number => acceptedAt + day * DAY_MS;
      const { store } = await openStore(schema, { ...clock, now });
      const waiting = acceptanceOf([{ id: "waits", destination: "shop/off", acceptedAt }]);
      await store.accept(waiting);

      // It is tried once, two days later. Then its destination is disabled.
      day = 2;
      const endpoint = "https://example.com/";
      const attempt = { startedAt: now(), durationMs: 1, endpoint, response: "", round: 1 };
      const failure = { ...attempt, outcome: "server_error", status: 503 } as const;
      const { handler } = delivering();
      const off = store.consume("shop/off", 10, {
        ...handler,
        deliver: async (): Promise<Settlement> => ({
          state: "pending",
          dueAt: now() + DAY_MS,
          rounds: 1,
          progress: {},
          attempts: [failure],
        }),
      });
      await until("it was tried", async () => (await store.find("waits"))?.attempts.length === 1);
      await off.stop();

      day = 3;
      const { handler: delivers, ended } = delivering();
      const endsToday = {
        ...delivers,
        deliver: async (): Promise<Settlement> => ({
          state: "delivered",
          endedAt: now(),
          attempts: [failure],
        }),
      };
      store.consume("shop/crm", 10, endsToday);
      await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: now() }]));
      await until("another one is delivered", () => ended.size === 1);

      const partitions = async (): Promise<readonly string[]> => {
        const daily = ["message", "attempt"].map((table) => `'${schema}.${table}'::regclass`).join();
        const sql = `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent IN (${daily})`;
        const rows = await ask<{ name: string }>(url, sql);
        return rows
          .map(({ name }) => name.replace(/\d+/, (one) => String(Number(one) - firstDay)))
          .toSorted();
      };
      day = 30;
      await until("what nothing needs is removed", async () => (await partitions()).length <= 6);
      expect(await partitions()).toEqual([
        "attempt_2",
        "attempt_30",
        "attempt_31",
        "message_0",
        "message_30",
        "message_31",
      ]);
      const found = await store.find("waits");
      expect(String(found?.body)).toBe(String(waiting.messages[0]?.body));
      expect(found?.attempts).toHaveLength(1);
    });

    it("is counted no more when it was removed before its day", async () => {
      const schema = newSchema();
      const clock = virtualClock();
      let aheadMs = 0;
      const { store } = await openStore(schema, { ...clock, now: () => clock.now() + aheadMs });
      const { handler, ended } = delivering();
      const soon = {
        ...handler,
        deliver: async () => ({ state: "delivered", endedAt: clock.now(), attempts: [] }) as const,
      };
      store.consume("shop/crm", 10, soon);
      await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: clock.now() }]));
      await until("it is delivered", () => ended.size === 1);
      expect(await store.remove({})).toBe(1);
      aheadMs = 10 * DAY_MS;
      const day = `${schema}.ended_${Math.floor(clock.now() / DAY_MS)}`;
      await until("its day is removed", async () => {
        const [row] = await ask<{ gone: boolean }>(url, `SELECT to_regclass('${day}') IS NULL AS gone`);
        return row?.gone === true;
      });
      expect((await store.counts()).get("shop/crm")).toEqual({
        pending: 0,
        delivered: 0,
        failed: 0,
        expired: 0,
      });
    });

    it("goes also after the clocks of the machine, which the database has as well, were ahead and set back", async () => {
      const schema = newSchema();
      const clock = virtualClock();
      let aheadMs = DAY_MS;
      const holds = async (condition: string): Promise<boolean> =>
        (await ask<{ holds: boolean }>(url, `SELECT ${condition} AS holds`))[0]?.holds === true;
      await openStore(schema, { ...clock, now: () => clock.now() + aheadMs });
      const swept = `EXISTS (SELECT FROM ${schema}.meta WHERE key = 'swept' AND value > ${clock.now()})`;
      await until("it has looked", () => holds(swept));

      aheadMs = 0;
      await ask(url, `INSERT INTO ${schema}.seen VALUES ('shop', 'key', 'call', 0)`);

      const gone = `NOT EXISTS (SELECT FROM ${schema}.seen)`;
      await until("the key is gone", () => holds(gone), 30_000);
      expect(await holds(gone)).toBe(true);
    });

    it("makes room for tomorrow, also in a process that has run for days", async () => {
      const schema = newSchema();
      const clock = virtualClock();
      let aheadMs = 0;
      await openStore(schema, { ...clock, now: () => clock.now() + aheadMs });
      aheadMs = 3 * DAY_MS;
      const tomorrow = `${schema}.message_${Math.floor(clock.now() / DAY_MS) + 4}`;
      const isThere = async (): Promise<boolean | undefined> =>
        (await ask<{ there: boolean }>(url, `SELECT to_regclass('${tomorrow}') IS NOT NULL AS there`))[0]
          ?.there;
      await until("the tables of tomorrow are there", async () => (await isThere()) === true);
      expect(await isThere()).toBe(true);
    });
  },
);
