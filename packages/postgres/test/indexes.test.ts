import { systemClock } from "@countersign/protocol";
import type { DeliveryFilter } from "@countersign/sender/store";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { DayPartitions } from "../src/schema/day-partitions.ts";
import { migrate } from "../src/schema/migrate.ts";
import { dayOf, inSchema, namesOf } from "../src/schema/names.ts";
import { Maintenance } from "../src/store/maintenance.ts";
import { DeliveryLog } from "../src/tables/delivery-log.ts";
import { listSkipped } from "../src/tables/skipped-log.ts";
import { readCounts } from "../src/tables/tallies.ts";
import { WorkerTable } from "../src/workers/worker-table.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

/** Enough that reading all of them is never the cheapest. */
const ROWS = 20_000;
const NOW = Date.now();

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

/** A plan, as PostgreSQL writes it. */
interface Plan {
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Node Type": string;
  readonly Plans?: readonly Plan[];
}

describe.skipIf(server === undefined)(
  `among many rows (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    const names = namesOf(newSchema());
    const pool = new pg.Pool({ connectionString: url });
    const connections = new Connections({ pool });
    const own = new pg.Client({ connectionString: url });
    const log = new DeliveryLog(connections, names);
    const partitions = new DayPartitions(connections, names);
    let asked: pg.QueryConfig[] = [];
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (config: pg.QueryConfig) => unknown;
      client.query = ((config: pg.QueryConfig) => {
        asked.push(config);
        return query(config);
      }) as typeof client.query;
    });

    afterAll(async () => {
      await Promise.all([pool.end(), own.end()]);
      await server?.stop();
    });

    beforeAll(async () => {
      await own.connect();
      await migrate(connections, names);
      await partitions.ensure([dayOf(NOW)]);
      const [day, rare] = [dayOf(NOW), "n <= 10"];
      const info = `source, id, destination, message, message_day, message_id, type, identity, event, accepted_at`;
      const about = `'shop', lpad(n::text, 6, '0'), CASE WHEN ${rare} THEN 'shop/rare' ELSE 'shop/crm' END, 'm' || n, ${day}, 'm' || n,
        CASE WHEN ${rare} THEN 'alias' ELSE 'track' END, 'u' || n, CASE WHEN n <= 5000 THEN 'old' ELSE 'e' || n END, ${NOW - ROWS} + n`;
      const rows = `FROM generate_series(1, ${ROWS}) AS n`;
      await own.query(
        inSchema(
          names,
          `INSERT INTO $.delivery (${info}, due_at, worker) SELECT ${about}, ${NOW}, CASE WHEN n % 2000 = 0 THEN 'w' END ${rows};
           INSERT INTO $.ended (${info}, last_outcome, last_status, last_endpoint, day, state, ended_at, log)
             SELECT ${about}, CASE WHEN ${rare} THEN 'timeout' ELSE 'success' END, CASE WHEN ${rare} THEN 503 ELSE 200 END,
               CASE WHEN ${rare} THEN 'https://rare' ELSE 'https://crm' END, ${day}, CASE WHEN ${rare} THEN 'failed' ELSE 'delivered' END,
               ${NOW}, '[]' ${rows};
           INSERT INTO $.seen SELECT 'shop', n, 'call', ${NOW} ${rows};
           INSERT INTO $.skipped SELECT 'shop', n, 'm', 'track', 'u', NULL, ${NOW} + n, 'no_destination' ${rows};
           INSERT INTO $.tally (source, destination, day, writer, pending) VALUES ('shop', 'shop/crm', -1, 'w', 1);
           ANALYZE $.delivery; ANALYZE $.ended; ANALYZE $.seen; ANALYZE $.skipped`,
        ),
      );
    });

    /** The indexes by which an action finds its rows, under their names in the schema; of a table that is read whole, its own. */
    async function foundBy(action: () => Promise<unknown>): Promise<readonly string[]> {
      asked = [];
      await action();
      const statements = asked;
      const { rows } = await own.query<{ part: string; whole: string }>(
        `SELECT inhrelid::regclass::text AS part, inhparent::regclass::text AS whole FROM pg_inherits`,
      );
      const plain = (name: string): string => name.replaceAll('"', "").split(".").at(-1) ?? "";
      const wholes = new Map(rows.map(({ part, whole }) => [plain(part), plain(whole)]));
      const found = new Set<string>();
      const walk = (plan: Plan): void => {
        const name =
          plan["Index Name"] ?? (plan["Node Type"] === "Seq Scan" ? plan["Relation Name"] : undefined);
        if (name !== undefined) found.add(wholes.get(name) ?? name);
        for (const one of plan.Plans ?? []) walk(one);
      };
      for (const { text, values } of statements) {
        if (!/^(?:SELECT|WITH|UPDATE) .*"(?:delivery|ended|seen|skipped)"/s.test(text)) continue;
        const explained = await own.query<{ "QUERY PLAN": readonly { readonly Plan: Plan }[] }>(
          `EXPLAIN (FORMAT JSON) ${text}`,
          values,
        );
        for (const { Plan: plan } of explained.rows[0]?.["QUERY PLAN"] ?? []) walk(plan);
      }
      return [...found].toSorted();
    }

    const lists: [DeliveryFilter, ...string[]][] = [
      [{}, "delivery_accepted", "delivery_claimed", "ended_accepted"],
      [{ destination: "shop/rare" }, "delivery_destination", "delivery_claimed", "ended_destination"],
      [{ messageId: "m7" }, "delivery_message", "delivery_claimed", "ended_message"],
      [{ identity: "u7" }, "delivery_identity", "delivery_claimed", "ended_identity"],
      [{ q: "m7" }, "delivery_pkey", "delivery_message", "delivery_identity", "delivery_event"],
      [{ q: "m7" }, "ended_pkey", "ended_message", "ended_identity", "ended_event"],
      [{ event: "e7000" }, "delivery_event", "ended_event"],
      [{ type: "alias" }, "delivery_type", "ended_type"],
      [{ status: 503 }, "delivery_status", "ended_status"],
      [{ endpoint: "https://rare" }, "delivery_endpoint", "ended_endpoint"],
      [{ state: "failed" }, "ended_lost"],
      [{ outcome: "timeout" }, "delivery_outcome", "ended_outcome"],
    ];

    it.each(lists)("the deliveries of a list of %j are found by an index", async (filter, ...indexes) => {
      const found = await foundBy(() => log.list({ ...filter, limit: 5 }));
      expect(found).toEqual(expect.arrayContaining(indexes));
    });

    it("a search that nothing matches does not read all deliveries from the newest on", async () => {
      const found = await foundBy(() => log.list({ q: "nothing", limit: 5 }));
      expect(found).not.toEqual(expect.arrayContaining(["ended_accepted"]));
      expect(found).not.toEqual(expect.arrayContaining(["delivery_accepted"]));
    });

    it("a count by source, destination and state reads no delivery: of a week, that took longer than an answer may", async () => {
      expect(await foundBy(() => log.count({ source: "shop", destination: ["shop/crm"] }))).toEqual([]);
      expect(await foundBy(() => log.count({ state: ["pending", "failed"], limit: 5 }))).toEqual([]);
      expect(await log.count({ state: "pending" })).toBe(1);
      expect(await foundBy(() => log.count({ state: "failed", type: "alias" }))).toContain("ended_lost");
    });

    it("a search for names that only old deliveries have does not read from the newest on", async () => {
      expect(await log.list({ q: "ol", limit: 5 })).toHaveLength(5);
      expect(await foundBy(() => log.list({ q: "ol", limit: 5 }))).not.toEqual(
        expect.arrayContaining(["ended_accepted"]),
      );
      expect(await foundBy(() => log.list({ q: "ol", limit: 5 }, "oldest first"))).toEqual(
        expect.arrayContaining(["delivery_event", "ended_event"]),
      );
    });

    it("what a search finds is counted as it is found: to compare all of it takes longer", async () => {
      asked = [];
      expect(await log.count({ q: "e" })).toBe(2 * (ROWS - 5_000));
      const [count] = asked.splice(0);
      const { rows } = await own.query<{ "QUERY PLAN": string }>(`EXPLAIN ${count?.text}`, count?.values);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toMatch(/^Aggregate[^\n]*\n +-> +Append/u);
      expect(plan).not.toContain("SubPlan");
    });

    it("a delivery that is claimed is in few indexes, since it leaves the table in a moment", async () => {
      const { rows } = await own.query<{ name: string }>(
        inSchema(
          names,
          `SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = '$.delivery'::regclass
             AND (indpred IS NULL OR pg_get_expr(indpred, indrelid) NOT LIKE '%(worker IS NULL)%') ORDER BY name`,
        ),
      );
      expect(rows.map(({ name }) => name.split(".")[1])).toEqual(["delivery_claimed", "delivery_pkey"]);
    });

    it("skipped calls, and the oldest of each destination, are found by an index", async () => {
      expect(await foundBy(() => listSkipped(connections, names, { limit: 5 }))).toEqual([
        "skipped_accepted",
      ]);
      const counted = ["delivery_claimed", "delivery_destination", "delivery_due"];
      expect(await foundBy(() => readCounts(connections, names))).toEqual(expect.arrayContaining(counted));
    });

    it("what was kept for long enough is found by an index", async () => {
      const clock = { ...systemClock(), now: () => NOW };
      const workers = new WorkerTable(connections, names);
      const maintenance = new Maintenance({ connections, names, partitions, workers, clock, keepMs: 1e9 });
      const indexes = ["delivery_claimed", "seen_at", "skipped_accepted"];
      expect(await foundBy(() => maintenance.run())).toEqual(expect.arrayContaining(indexes));
    });
  },
);
