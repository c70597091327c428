import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { postgresStore } from "@countersign/postgres";
import { createSender } from "@countersign/sender";
import type { DeliveryHandler, DeliveryStore, StoreContext } from "@countersign/sender/store";
import { systemClock, type Clock } from "@countersign/protocol";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { SETTINGS, setupSql } from "../dist/database/own-pool.js";
import { Claimer } from "../dist/delivery/claimer.js";
import { namesOf } from "../dist/schema/names.js";
import { acceptNewSql, acceptSql } from "../dist/tables/accept-statement.js";
import { claimSql } from "../dist/tables/claim-statement.js";
import { settleSql } from "../dist/tables/settle-statement.js";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

/** How each command that is for many deliveries is recognised. */
const COMMANDS = {
  accept: "new_message AS",
  claim: "picked AS",
  settle: "postponed AS",
  beat: "beat AS",
  announce: "SET delivers = true",
} as const;

type Command = keyof typeof COMMANDS;

const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";

type Counts = Record<Command | "all", number>;

/**
 * What is counted while something happens. A process that other work of the machine holds up announces that it delivers again, and looks for
 * all that is due then: in that case, what happens once more is counted.
 */
async function countedWhile(counts: Counts, happens: (time: number) => Promise<void>): Promise<Counts> {
  for (let time = 1; ; time += 1) {
    const before = { ...counts };
    await happens(time);
    const names = Object.keys(counts) as (keyof Counts)[];
    const counted = Object.fromEntries(names.map((name) => [name, counts[name] - before[name]])) as Counts;
    if (counted.announce === 0 || time === 5) return counted;
  }
}

/** A pool that counts commands. */
function countingPool(): { readonly pool: pg.Pool; readonly counts: Counts } {
  const pool = new pg.Pool({ connectionString: url, max: 7 });
  const counts = { accept: 0, claim: 0, settle: 0, beat: 0, announce: 0, all: 0 };
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      const text = (args[0] as { text?: string }).text ?? "";
      counts.all += 1;
      for (const name of Object.keys(COMMANDS) as Command[])
        if (text.includes(COMMANDS[name])) counts[name] += 1;
      return query(...args);
    }) as typeof client.query;
  });
  return { pool, counts };
}

async function openStore(
  options: Parameters<typeof postgresStore>[0],
  clock: Clock = systemClock(),
): Promise<DeliveryStore> {
  const store = postgresStore(options);
  const context: StoreContext = quietContext(clock);
  await store.open(context);
  onTestFinished(() => store.close());
  return store;
}

/** Delivers at once, and counts. */
function instantHandler(clock: Clock): DeliveryHandler & { readonly ended: string[] } {
  const ended: string[] = [];
  return {
    ended,
    deliver: async () => ({ state: "delivered", endedAt: Math.floor(clock.now()), attempts: [] }),
    settled: ({ delivery }, { state }) => {
      // One that is given back, since it would wait for too long, is settled, too.
      if (state !== "pending") ended.push(delivery.id);
    },
    lost: () => {},
  };
}

const deliveriesOf = (prefix: string, count: number, destination = "shop/crm") =>
  Array.from({ length: count }, (_, index) => ({
    id: `${prefix}${String(index).padStart(6, "0")}`,
    destination,
    acceptedAt: Math.floor(systemClock().now()),
  }));

describe.skipIf(server === undefined)(
  `what makes the store quick (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("what a process accepts it delivers from memory, without a claim, and settles many with one command", async () => {
      const { pool, counts } = countingPool();
      onTestFinished(() => pool.end());
      const store = await openStore({ pool, schema: newSchema() });
      const handler = instantHandler(systemClock());
      store.consume("shop/crm", 50, handler);
      const deliver = async (prefix: string, count: number): Promise<void> => {
        const ended = handler.ended.length + count;
        await Promise.all(deliveriesOf(prefix, count).map((one) => store.accept(acceptanceOf([one]))));
        await until("all are delivered", () => handler.ended.length === ended);
      };
      // Once it has claimed and found nothing more.
      let first = 0;
      const isKnown = async (): Promise<boolean> => {
        const before = counts.claim;
        first += 1;
        await deliver(`first ${first} `, 1);
        return counts.claim === before;
      };
      await until("it knows that nothing is due", isKnown);
      const commands = await countedWhile(counts, (time) => deliver(`d ${time} `, 1_000));
      expect(commands.claim).toBe(0);
      expect(commands.accept).toBeLessThanOrEqual(10);
      expect(commands.settle).toBeLessThanOrEqual(100);
    });

    it("a destination opens no more connections than it has places, since each is used again once it is free", async () => {
      let connections = 0;
      const receiver = createServer((request, response) => {
        request.resume().once("end", () => response.end());
      }).on("connection", () => (connections += 1));
      receiver.listen(0, "127.0.0.1");
      await once(receiver, "listening");
      onTestFinished(() => {
        receiver.close();
        receiver.closeAllConnections();
      });
      const { port } = receiver.address() as AddressInfo;
      const destinations = [{ endpoints: [{ url: `http://127.0.0.1:${port}/` }], concurrency: 5 }];
      const sender = await createSender({
        sources: [{ name: "shop", destinations }],
        store: postgresStore({ url, schema: newSchema() }),
      });
      onTestFinished(() => sender.close());
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => sender.track({ userId: `u${index}`, event: "Paid" })),
      );
      await sender.idle();
      expect(connections).toBeGreaterThan(0);
      expect(connections).toBeLessThanOrEqual(5);
    });

    it("what others have stored is claimed many at a time", async () => {
      const schema = newSchema();
      const ingest = await openStore({ url, schema });
      await ingest.accept(acceptanceOf(deliveriesOf("d", 1_000)));
      const { pool, counts } = countingPool();
      onTestFinished(() => pool.end());
      const store = await openStore({ pool, schema });
      const handler = instantHandler(systemClock());
      store.consume("shop/crm", 50, handler);
      await until("all are delivered", () => handler.ended.length === 1_000);
      expect(counts.claim).toBeLessThanOrEqual(60);
    });

    it("a delivery that ends has the others looked at only if its destination has room for more", async () => {
      const count = 20_000;
      const schema = newSchema();
      const ingest = await openStore({ url, schema });
      // More than are claimed in advance: whenever one ends, more could be claimed.
      await ingest.accept(acceptanceOf(deliveriesOf("d", count)));
      const looks = vi.spyOn(Claimer.prototype, "pump");
      onTestFinished(() => looks.mockRestore());
      const store = await openStore({ url, schema });
      const handler = instantHandler(systemClock());
      store.consume("shop/crm", 50, handler);
      await until("all are delivered", () => handler.ended.length === count);
      expect(looks.mock.calls.length).toBeLessThan(count * 0.6);
    });

    it("a thousand destinations need no more connections than one, and an idle one no command", async () => {
      const schema = newSchema();
      const watcher = new pg.Client({ connectionString: url });
      await watcher.connect();
      onTestFinished(() => watcher.end());
      const opened = await openStore({ url: `${url}?application_name=${schema}`, schema });
      const handler = instantHandler(systemClock());
      for (let index = 0; index < 1_000; index += 1) opened.consume(`shop/d${index}`, 10, handler);
      const all = Array.from({ length: 1_000 }, (_, index) => deliveriesOf(`${index}x`, 1, `shop/d${index}`));
      await opened.accept(acceptanceOf(all.flat()));
      await until("all are delivered", () => handler.ended.length === 1_000);
      const { rows } = await watcher.query<{ count: string }>(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
        [schema],
      );
      expect(Number(rows[0]?.count)).toBeLessThanOrEqual(7);
      expect(Number(rows[0]?.count)).toBeGreaterThan(0);
    });

    it("an idle process asks for its lease, and for what no notice has told at most once for all destinations", async () => {
      const { pool, counts } = countingPool();
      onTestFinished(() => pool.end());
      const store = await openStore({ pool, schema: newSchema() });
      const handler = instantHandler(systemClock());
      for (let index = 0; index < 1_000; index += 1) store.consume(`shop/d${index}`, 10, handler);
      // Each destination is asked for once, many with one command.
      await until("every destination was asked for", () => counts.claim >= 4 && counts.beat >= 5);
      const { claim, all, beat } = await countedWhile(counts, () => {
        const enough = counts.beat + 5;
        return until("it goes on beating", () => counts.beat >= enough);
      });
      expect(claim).toBe(0);
      expect(all - beat).toBeLessThanOrEqual(3);
    });

    it("what waits for a place here goes to a process that has one", async () => {
      const schema = newSchema();
      const full = await openStore({ url, schema });
      const release: (() => void)[] = [];
      const begun: string[] = [];
      const slow: DeliveryHandler = {
        ...instantHandler(systemClock()),
        async deliver({ delivery }) {
          begun.push(delivery.id);
          await new Promise<void>((resolve) => release.push(resolve));
          return { state: "delivered", endedAt: Math.floor(systemClock().now()), attempts: [] };
        },
      };
      full.consume("shop/crm", 4, slow);
      await full.accept(acceptanceOf(deliveriesOf("d", 100)));
      await until("four are under way", () => begun.length === 4);
      const other = await openStore({ url, schema });
      const quick = instantHandler(systemClock());
      other.consume("shop/crm", 4, quick);
      await until("the others are delivered", () => {
        // Half of the places are the other's, which begins when this one keeps to that.
        if (quick.ended.length === 0) release.shift()?.();
        return begun.length + quick.ended.length === 100;
      });
      // From its first one on, no place became free.
      expect(quick.ended.length).toBeGreaterThan(0);
      expect(new Set([...begun, ...quick.ended]).size).toBe(100);
      for (const one of release) one();
    });

    it("a search reads few of many deliveries: each column that it looks at has an index", async () => {
      const schema = newSchema();
      const store = await openStore({ url, schema });
      const handler = instantHandler(systemClock());
      store.consume("shop/crm", 10, handler);
      const [first] = deliveriesOf("d", 1);
      if (first === undefined) return;
      await store.accept(acceptanceOf([first]));
      await until("one has ended", () => handler.ended.length === 1);
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      onTestFinished(() => client.end());
      const names = namesOf(schema);
      const columns =
        "source, destination, message, message_day, type, event, accepted_at, day, state, ended_at, log";
      await client.query(
        `INSERT INTO ${names.table("ended")} (id, message_id, identity, ${columns})
         SELECT 'old-' || n, 'm' || n, 'user-' || n, ${columns} FROM ${names.table("ended")}, generate_series(1, 20000) AS n`,
      );
      await client.query(`ANALYZE ${names.table("ended")}`);
      const read = async (): Promise<{ readonly scans: number; readonly rows: number }> => {
        const { rows } = await client.query<{ scans: number; rows: number }>(
          `SELECT (SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname LIKE 'ended%')::int AS scans,
             (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname LIKE 'ended%')::int
               + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = $1 AND relname LIKE 'ended%')::int AS rows`,
          [schema],
        );
        return rows[0] ?? { scans: 0, rows: 0 };
      };
      // What was read to store them is reported by now, or soon.
      await client.query("SELECT pg_stat_force_next_flush()").catch(() => {});
      const before = await read();
      for (const q of ["old-77", "m77", "user-77", "nothing"])
        expect(await store.list({ q })).toHaveLength(q === "nothing" ? 0 : 1);
      // A connection of PostgreSQL 14 that is idle reports what it has read when it ends.
      await store.close();
      await until("it is reported", async () => (await read()).scans >= before.scans + 12);
      expect((await read()).rows - before.rows).toBeLessThan(1_000);
    });

    it("plans that were made while there was nothing use the indexes that a million need", async () => {
      const schema = newSchema();
      // It makes the tables.
      await openStore({ url, schema });
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      onTestFinished(() => client.end());
      const [process] = (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows;
      await client.query(setupSql(SETTINGS, process?.pid ?? null));
      const names = namesOf(schema);
      const explain = async (sql: string, values: number): Promise<string> => {
        await client.query(`PREPARE asked AS ${sql}`);
        const nulls = Array.from({ length: values }, () => "NULL").join(", ");
        const { rows } = await client.query<{ "QUERY PLAN": string }>(`EXPLAIN EXECUTE asked(${nulls})`);
        await client.query("DEALLOCATE asked");
        return rows.map((row) => row["QUERY PLAN"].trim()).join("\n");
      };
      const plans = {
        acceptNew: await explain(acceptNewSql(names), 24),
        accept: await explain(acceptSql(names), 31),
        claim: await explain(claimSql(names), 7),
        settle: await explain(settleSql(names, false), 16),
        carry: await explain(settleSql(names, true), 16),
      };
      for (const plan of Object.values(plans)) expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join/);
      const scansOf = (plan: string): readonly (string | undefined)[] =>
        [...plan.matchAll(/Scan(?: using (\w+))? on delivery/g)].map(([, index]) => index);
      // Each that is claimed is found by its place among the due ones, and changed where it was found.
      expect(scansOf(plans.claim).toSorted()).toEqual(["delivery_due", "delivery_due", undefined]);
      for (const plan of [plans.settle, plans.carry])
        expect(scansOf(plan).toSorted()).toEqual(["delivery_pkey", undefined, undefined]);
      expect(plans.settle).toMatch(/Index Cond: \(\(source = \$1\) AND \(id = s\.id\)\)/);
    });
  },
);
