import Database from "libsql";
import { clearImmediate, setImmediate } from "node:timers";
import { beforeAll, describe, expect, it } from "vitest";
import type { DeliveryFilter, ListOrder } from "@countersign/sender/store";
import { DeliveryCounter } from "../dist/sqlite/delivery-counter.js";
import { DeliverySearch } from "../dist/sqlite/delivery-search.js";
import { migrate } from "../dist/sqlite/schema.js";

/** More than a function can be given as arguments. */
const ROWS = 150_000;

/** A page takes some for each range; to look at every row takes hundreds. */
const FEW = 40;

/** The oldest are like no others. */
const PILE = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})
  INSERT INTO delivery (seq, id, message, destination, accepted_at, message_id, type, source, identity, event, state, ended_at,
    rounds, attempts, round, endpoint, started_at, duration_ms, outcome, status, response)
  SELECT n, printf('%06d', n), n, 'shop/crm', n, 'm' || n, 'track', 'shop', 'u' || (n % 1000),
    CASE WHEN n % 500 = 0 THEN NULL WHEN n <= 5 THEN 'Oldest' WHEN n % 2 = 0 THEN 'Order Completed' ELSE 'Event ' || (n % 200) END,
    'delivered', n, 1, 1, 1, iif(n <= 5, 'https://oldest', 'https://crm'), n, 1.5, 'success', iif(n <= 5, 202, 200), '' FROM numbers`;

describe("of many deliveries in a file", () => {
  const db = new Database(":memory:");
  let ran = 0;
  let prepared: string[] = [];
  let search: DeliverySearch;

  beforeAll(() => {
    migrate(db);
    db.prepare(PILE).run([]);
    const counting = new Proxy(db, {
      get: (target, name) =>
        name === "prepare"
          ? (sql: string) => (prepared.push(sql), counted(target.prepare(sql)))
          : Reflect.get(target, name),
    });
    search = new DeliverySearch(counting, new DeliveryCounter(db));
  });

  /** A statement, each run of which is counted. */
  function counted(statement: Database.Statement): Database.Statement {
    return new Proxy(statement, {
      get(target, name) {
        if (name === "raw") return () => counted(target.raw());
        if (name === "get" || name === "all") ran += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  const filters: readonly (readonly [DeliveryFilter, number])[] = [
    [{ endpoint: "https://none" }, 0],
    [{ endpoint: "https://oldest" }, 5],
    [{ status: 204 }, 0],
    [{ status: 202 }, 5],
    [{ status: [202, 204], endpoint: "https://oldest" }, 5],
    [{ status: 503 }, 0],
    [{ outcome: "timeout" }, 0],
    [{ event: "None" }, 0],
    [{ q: "nothing" }, 0],
    [{ q: "Old" }, 5],
    [{ q: "Old", state: "failed" }, 0],
    [{ q: "u7", since: 10_000, until: 10_100 }, 1],
    [{ endpoint: "https://oldest", since: 3 }, 3],
    [{ status: 204, until: 140_000 }, 0],
  ];

  it.each(filters)("those of %j are found without looking at all of them", async (filter, count) => {
    for (const order of ["newest first", "oldest first"] satisfies ListOrder[]) {
      ran = 0;
      expect(await search.list({ ...filter, limit: 50 }, order)).toHaveLength(count);
      expect(ran).toBeLessThan(FEW);
    }
    expect(await search.count(filter)).toBe(count);
  });

  it("the names of events that begin so are read once: of two lower bounds, SQLite would read from the first on", async () => {
    prepared = [];
    await search.list({ q: "Event" });
    const steps = prepared.filter((sql) => sql.endsWith("ORDER BY d.event LIMIT 1"));
    expect(steps.map((sql) => sql.match(/event >/gu)?.length)).toEqual([1, 1]);
  });

  it("what is searched for is counted, however much it is, and what is found twice only once", async () => {
    expect(await search.count({ q: "O" })).toBe(ROWS / 2 - ROWS / 500 + 3);
    db.exec(
      "UPDATE delivery SET id = iif(seq = 1, 'Old', id), message_id = 'Old', identity = 'Old' WHERE seq IN (1, 1000)",
    );
    try {
      expect(await search.count({ q: "Old" })).toBe(6);
      expect((await search.list({ q: "Old" })).map(({ acceptedAt }) => acceptedAt)).toEqual([
        1000, 5, 4, 3, 2, 1,
      ]);
    } finally {
      db.exec(
        "UPDATE delivery SET id = printf('%06d', seq), message_id = 'm' || seq, identity = 'u' || (seq % 1000) WHERE seq IN (1, 1000)",
      );
    }
  });

  it("a delivery that ends while a page is read in turns is on it once", async () => {
    db.exec(`UPDATE delivery SET state = 'pending' WHERE seq > ${ROWS - 900} AND seq % 2 = 0`);
    try {
      const page = new DeliverySearch(db, new DeliveryCounter(db)).list({ limit: 1_000 });
      db.exec("UPDATE delivery SET state = 'delivered' WHERE state = 'pending'");
      const ids = (await page).map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    } finally {
      db.exec("UPDATE delivery SET state = 'delivered' WHERE state = 'pending'");
    }
  });

  it.each<DeliveryFilter>([{ event: "Order Completed" }, { since: 1 }, { q: "O" }, { outcome: "success" }])(
    "other work has its turn while those of %j are counted",
    async (filter) => {
      let turns = 0;
      const turn = (): void => {
        turns += 1;
        next = setImmediate(turn);
      };
      let next = setImmediate(turn);
      expect(await search.count(filter)).toBeGreaterThan(ROWS * 0.4);
      clearImmediate(next);
      expect(turns).toBeGreaterThan(3);
    },
  );
});
