import { postgresStore } from "@countersign/postgres";
import { type Clock, systemClock } from "@countersign/protocol";
import type { DeliveryHandler, DueDelivery, Settlement, StoreState } from "@countersign/sender/store";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";

const HOUR_MS = 3_600_000;

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

/** What the database has of a delivery that waits. */
interface Row {
  readonly id: string;
  /** How long it waits, in milliseconds by the database's clock. */
  readonly wait: number;
}

describe.skipIf(server === undefined)(
  `a clock that is set while a process runs (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A store with a clock that can be set, and a handler whose attempts the test ends. */
    async function openStore() {
      const [schema, machine] = [newSchema(), systemClock()];
      let setByMs = 0;
      let isOver = false;
      const clock: Clock = { ...machine, now: () => machine.now() + setByMs };
      const states: StoreState[] = [];
      const store = postgresStore({ url, schema });
      const stateChanged = (state: StoreState): void => {
        states.push(state);
        happened();
      };
      await store.open({ ...quietContext(clock), stateChanged });
      const [attempted, settled] = [[] as string[], new Map<string, Settlement>()];
      const ends = new Map<string, (settlement: Settlement) => void>();
      const handler: DeliveryHandler = {
        deliver({ delivery: { id } }: DueDelivery) {
          attempted.push(id);
          if (isOver) return Promise.resolve({ state: "delivered", endedAt: clock.now(), attempts: [] });
          const settlement = new Promise<Settlement>((resolve) => ends.set(id, resolve));
          happened();
          return settlement;
        },
        settled({ delivery: { id } }, settlement) {
          settled.set(id, settlement);
          happened();
        },
        lost: () => {},
      };
      const accept = (id: string) =>
        store.accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt: clock.now() }]));
      /** Ends an attempt, with a settlement by the clock as it is. */
      const end = (id: string, state: "again" | "expired" | "delivered"): void => {
        const [rounds, attempts] = [1, [] as const];
        const again = {
          state: "pending",
          dueAt: clock.now() + HOUR_MS,
          rounds,
          progress: {},
          attempts,
        } as const;
        ends.get(id)?.(state === "again" ? again : { state, endedAt: clock.now(), attempts });
      };
      onTestFinished(async () => {
        isOver = true;
        for (const id of ends.keys()) end(id, "delivered");
        await store.close();
      });
      const rows = (): Promise<readonly Row[]> =>
        ask<Row>(
          url,
          `SELECT id, (due_at - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS wait FROM ${schema}.delivery`,
        );
      const set = (ms: number): void => void (setByMs = ms);
      const isTold = (state: StoreState["state"]): boolean => states.at(-1)?.state === state;
      return { store, schema, handler, attempted, settled, accept, end, rows, set, isTold };
    }

    /** Has a destination with three places: one delivery waits for an hour, two are being tried, and one waits for a place. */
    async function busyStore() {
      const opened = await openStore();
      const { store, handler, attempted, settled, accept, end } = opened;
      store.consume("shop/crm", 2, handler);
      await accept("later");
      await until("the first is tried", () => attempted.length === 1);
      end("later", "again");
      await until("it waits", () => settled.has("later"));
      for (const id of ["one", "two", "next"]) await accept(id);
      await until("two are tried", () => attempted.length === 3);
      return opened;
    }

    it("expires nothing and tries nothing when it is set forward, although no heartbeat has compared it yet", async () => {
      const { attempted, settled, accept, end, rows, set, isTold } = await busyStore();
      const before = [...attempted];
      set(5 * HOUR_MS);
      const refused = accept("refused");
      // By this clock, what is being tried has no time left, and what waits for an hour is due.
      end("one", "expired");
      end("two", "again");
      await expect(refused).rejects.toMatchObject({
        code: "ERR_STORE_FAILED",
        message: expect.stringMatching(/^The clock of this machine (?:was set forward by|is) 5 h\b/),
      });
      await until("both are settled", () => settled.has("one") && settled.has("two"));
      await until("it is told", () => isTold("unsafe"));
      expect(attempted).toEqual(before);
      const waits = new Map((await rows()).map(({ id, wait }) => [id, wait]));
      expect(waits.size).toBe(4);
      expect(waits.get("one")).toBeLessThan(0);
      expect(waits.get("two")).toBeLessThanOrEqual(HOUR_MS + 1_000);
      expect(waits.get("later")).toBeLessThanOrEqual(HOUR_MS + 1_000);

      set(0);
      await until("what waited for a place is tried", () => attempted.includes("next"));
      await until(
        "what had time left is tried again",
        () => attempted.lastIndexOf("one") > before.length - 1,
      );
      expect(attempted.filter((id) => id === "later" || id === "two")).toHaveLength(2);
      for (const id of ["one", "next"]) end(id, "delivered");
      await until("both are delivered", async () => (await rows()).length === 2);
    });

    it("has what is tried again wait for as long when it is set back, and what has ended end today", async () => {
      const { schema, settled, end, rows, set, isTold } = await busyStore();
      const startedAt = Date.now();
      set(-48 * HOUR_MS);
      end("one", "again");
      end("two", "delivered");
      await until("both are settled", () => settled.has("one") && settled.has("two"));
      await until("it is told", () => isTold("unsafe"));
      const waits = new Map((await rows()).map(({ id, wait }) => [id, wait]));
      expect(waits.get("one")).toBeGreaterThan(HOUR_MS - (Date.now() - startedAt) - 2_000);
      const [ended] = await ask<{ at: number }>(url, `SELECT ended_at::float8 AS at FROM ${schema}.ended`);
      expect(ended?.at).toBeGreaterThan(startedAt - 2_000);
    });

    it("makes nothing due by a time that is wrong: who asks for a delivery now is told", async () => {
      const { store, set } = await busyStore();
      set(5 * HOUR_MS);
      await expect(store.hasten("later", "shop")).rejects.toMatchObject({ code: "ERR_STORE_FAILED" });
    });
  },
);
