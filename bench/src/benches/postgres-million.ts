import type { DeliveryFilter } from "@countersign/sender";
import type { Bench, BenchContext } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { atLeast, compare, type Row } from "../harness/row.ts";
import { median } from "../harness/statistics.ts";
import { turnOver } from "../support/backlog.ts";
import { perSecond } from "../support/forwarders.ts";
import { pileEnded, pilePending } from "../support/postgres-million.ts";
import { openOnPostgres } from "../support/postgres-sender.ts";
import { startPostgres } from "../support/postgres.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { instantTransport } from "../support/transports.ts";

const MILLION = 1_000_000;
/** Enough that both claim as many at a time: with ten pending, a sender mostly waits for its next call to be stored. */
const FEW = 10_000;
const MESSAGES = 5_000;
const CONCURRENCY = 10;
const TIMES = 5;

const NOWHERE = "http://127.0.0.1:9/";

/** Each field alone, values that are frequent and rare, and some together. */
const FILTERS: readonly DeliveryFilter[] = [
  {},
  { state: "delivered" },
  { state: "failed" },
  { state: "pending" },
  { source: "bench" },
  { destination: "bench/d0" },
  { destination: "bench/none" },
  { type: "track" },
  { type: "identify" },
  { type: "alias" },
  { messageId: "message-500000" },
  { identity: "user-77" },
  { event: "Event 7" },
  { event: "None" },
  { event: "Oldest" },
  { outcome: "rejected" },
  { status: 410 },
  { status: 201 },
  { status: 500 },
  { endpoint: "https://example.com/hooks" },
  { endpoint: "https://example.com/none" },
  { q: "user-77" },
  { q: "Event 1" },
  { q: "E" },
  { q: "Old" },
  { q: "nothing" },
  { q: "Event 1", state: "failed" },
  { q: "nothing", destination: "bench/d0", type: "track" },
  { q: "user-77", source: "bench", until: Date.now() },
  { event: "None", type: "track", state: ["pending", "failed"] },
  { destination: "bench/d0", state: "failed", type: "track" },
  { identity: "user-77", state: "delivered", status: 200 },
];

/** A sender that turns over what is pending without a network; it is opened anew in each round. */
async function withPending(database: string, pending: number): Promise<Contender> {
  const schema = `pending_${pending}`;
  const options = { database, schema, endpoint: NOWHERE, concurrency: CONCURRENCY };
  // It makes the tables.
  await (await openOnPostgres({ ...options, deliver: false })).close();
  await pilePending(database, schema, pending);
  return {
    name: String(pending),
    async measure() {
      const sender = await openOnPostgres({ ...options, transport: instantTransport() });
      try {
        return await perSecond(MESSAGES, () => turnOver(sender, pending, MESSAGES));
      } finally {
        await sender.close();
      }
    },
  };
}

async function pendingRow(database: string, { rounds, progress }: BenchContext): Promise<Row> {
  progress("PostgreSQL store, 1,000,000 pending");
  const [few, many] = [await withPending(database, FEW), await withPending(database, MILLION)];
  const measured = await alternate([few, many], { rounds: rounds(5) });
  return compare(measured, {
    what: "PostgreSQL store with 1,000,000 pending",
    against: "with 10,000 pending",
    unit: "msg/s",
    ours: many.name,
    theirs: few.name,
    target: atLeast(0.8),
  });
}

/** Where a filter looks: among what waits, and among what has ended, in one day or in a month. */
const PILES = [
  { of: "pending", schema: "waiting", pile: pilePending },
  { of: "ended in a day", schema: "over", pile: pileEnded },
  {
    of: "ended in 30 days",
    schema: "month",
    pile: (database: string, schema: string, count: number) => pileEnded(database, schema, count, 30),
  },
] as const;

/** The slowest filter of each pile: the middle of several times, for a page of fifty. */
async function filterRows(database: string, { progress }: BenchContext): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { of, schema, pile } of PILES) {
    progress(`PostgreSQL store, filters over 1,000,000 deliveries: ${of}`);
    const sender = await openOnPostgres({ database, schema, endpoint: NOWHERE, deliver: false });
    await pile(database, schema, MILLION);
    const timed: { readonly filter: string; readonly ms: number }[] = [];
    for (const filter of FILTERS) {
      const times: number[] = [];
      for (let time = 0; time < TIMES; time += 1) {
        const start = performance.now();
        await sender.summaries({ ...filter, limit: 50 });
        times.push(performance.now() - start);
      }
      timed.push({ filter: JSON.stringify(filter), ms: median(times) });
    }
    await sender.close();
    const [slowest] = timed.toSorted((a, b) => b.ms - a.ms);
    rows.push({
      what: `PostgreSQL store, slowest of ${FILTERS.length} filters: ${slowest?.filter}`,
      against: `a fixed bound, 1,000,000 deliveries: ${of}`,
      unit: "ms",
      ours: slowest?.ms ?? Number.NaN,
      target: { of: "ours", is: "at most", value: 50 },
    });
  }
  return rows;
}

/** What takes a minute to store: it runs with `--write`. */
export const postgresMillion: Bench = {
  name: "postgres-million",
  about: "whether a sender on PostgreSQL slows down with a million deliveries, pending or kept",
  kind: "curve",
  run: (context) =>
    withTemporaryFolder(async (folder) => {
      const server = await startPostgres(folder);
      if (server === undefined) return { rows: [] };
      try {
        return { rows: [await pendingRow(server.url, context), ...(await filterRows(server.url, context))] };
      } finally {
        await server.stop();
      }
    }),
};
