import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Bench, BenchContext } from "../harness/bench.ts";
import type { Row } from "../harness/row.ts";
import { quantile } from "../harness/statistics.ts";
import { startChild, withChildren } from "../support/child.ts";
import { openOnPostgres } from "../support/postgres-sender.ts";
import { startPostgres } from "../support/postgres.ts";
import { SteadyLoad, steadyP99 } from "../support/steady-load.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const SECONDS = 8;
/** Node compiles what runs often, and the database keeps the plans of each connection: at first a call takes ten times as long. */
const WARM_UP_SECONDS = 6;
const RETRIES_PER_SECOND = 200;
const IDLE_MS = 10_000;
const DESTINATIONS = 1_000;

function bound(what: string, unit: string, ours: number, most: number): Row {
  return {
    what: `PostgreSQL store, ${what}`,
    against: "a fixed bound",
    unit,
    ours,
    target: { of: "ours", is: "at most", value: most },
  };
}

/** The slowest 1 % of calls and deliveries at a steady rate. */
async function latencies(database: string, endpoint: string, context: BenchContext): Promise<Row[]> {
  const sender = await openOnPostgres({ database, schema: "steady", endpoint });
  const { accepted, delivered } = await steadyP99(sender, "PostgreSQL store", WARM_UP_SECONDS, context);
  await sender.close();
  return [
    bound("1,000/s, call to stored, p99", "ms", accepted, 10),
    bound("1,000/s, call to delivery, p99", "ms", delivered, 30),
  ];
}

/** By how much retries begin after they are due, and whether one begins before, by the clock that has milliseconds. */
async function retries(database: string, endpoint: string, { progress }: BenchContext): Promise<Row[]> {
  progress(`PostgreSQL store, retries, ${RETRIES_PER_SECOND} a second`);
  const retry = { firstDelayMs: 1_000, maxDelayMs: 1_000 };
  const sender = await openOnPostgres({ database, schema: "retries", endpoint, retry });
  const dueAt = new Map<string, number>();
  const late: number[] = [];
  sender.on("retrying", ({ delivery, dueAt: due }) => dueAt.set(delivery.id, due));
  sender.on("attempt", ({ delivery, attempt }) => {
    const due = dueAt.get(delivery.id);
    if (due !== undefined && attempt.round > 1) late.push(attempt.startedAt - due);
  });
  await new SteadyLoad(sender, RETRIES_PER_SECOND).run(SECONDS);
  await sender.idle();
  await sender.close();
  return [
    bound("retries are late by, p99", "ms", quantile(late, 0.99), 50),
    bound("retries that are early", "of all", late.filter((ms) => ms < 0).length, 0),
  ];
}

/** What a process with many destinations costs while nothing happens. */
async function idle(database: string, endpoint: string, { progress }: BenchContext): Promise<Row[]> {
  progress(`PostgreSQL store, ${DESTINATIONS} destinations, ${IDLE_MS / 1_000} s of nothing`);
  const watcher = new pg.Client({ connectionString: database });
  await watcher.connect();
  const sender = await openOnPostgres({ database, schema: "idle", endpoint, destinations: DESTINATIONS });
  // One message for each destination, so that connections are made that are needed.
  await sender.track({ userId: "user", event: "Idle" });
  await sender.idle();
  const { rows } = await watcher.query<{ count: string }>(
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  const before = process.cpuUsage();
  await wait(IDLE_MS);
  const { user, system } = process.cpuUsage(before);
  await sender.close();
  await watcher.end();
  return [
    bound("1,000 destinations, connections", "", Number(rows[0]?.count), 7),
    bound("1,000 destinations, idle", "% of a core", (user + system) / 1_000 / (IDLE_MS / 100), 2),
  ];
}

/** Bounds for what a sender on PostgreSQL does at a rate that it can keep up with. */
export const postgresSteady: Bench = {
  name: "postgres-steady",
  about:
    "how late calls, deliveries and retries are on PostgreSQL, and what a thousand idle destinations cost",
  run: (context) =>
    withChildren([startChild("sink"), startChild("sink", ["0.5"])], async (sink, failing) =>
      withTemporaryFolder(async (folder) => {
        const server = await startPostgres(folder);
        if (server === undefined) {
          context.progress("skipped: no PostgreSQL server on this machine");
          return { rows: [] };
        }
        const [url, failingUrl] = [sink, failing].map(({ ready }) => `http://127.0.0.1:${ready as number}/`);
        try {
          return {
            rows: [
              ...(await latencies(server.url, url ?? "", context)),
              ...(await retries(server.url, failingUrl ?? "", context)),
              ...(await idle(server.url, url ?? "", context)),
            ],
          };
        } finally {
          await server.stop();
        }
      }),
    ),
};
