import type { Bench, BenchContext } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, compare, type Row } from "../harness/row.ts";
import { startChild, withChildren } from "../support/child.ts";
import { bareLoop, forwarding, openPool } from "../support/forwarders.ts";
import { openOnPostgres } from "../support/postgres-sender.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedis } from "../support/redis.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { twoWorkers } from "./postgres-workers.ts";
import { bullWorker, postWithFetch, postWithUndici } from "./sender.ts";

const MESSAGES = 5_000;
const ROUNDS = 5;
const WHAT = "sender, PostgreSQL store";
const BARE = "undici, nothing stored";
/** A worker with the HTTP client that our sender has, and one with the platform's own. */
const BULL = ["BullMQ worker posting with undici", "BullMQ worker posting with fetch"] as const;
const NO_POSTGRES = "no PostgreSQL server on this machine";
const NO_REDIS = "no redis-server on this machine";

async function measured(database: string, url: string, folder: string, rounds: number): Promise<Row[]> {
  const pool = openPool(url);
  const sender = await openOnPostgres({ database, endpoint: url });
  const redis = await startRedis(folder);
  const workers =
    redis === undefined
      ? []
      : [
          bullWorker(BULL[0], redis.port, postWithUndici(pool)),
          bullWorker(BULL[1], redis.port, postWithFetch(url)),
        ];
  try {
    const contenders = [
      forwarding("postgres", sender, MESSAGES),
      bareLoop(BARE, pool, MESSAGES),
      ...workers.map(({ contender }) => contender),
    ];
    const figures = await alternate(contenders, { rounds, warmups: 2 });
    const row = (against: string, target: number): Row =>
      compare(figures, {
        what: WHAT,
        against,
        unit: "msg/s",
        ours: "postgres",
        theirs: against,
        target: atLeast(target),
      });
    const bull = BULL.map((against): Row =>
      redis === undefined ? skipped(against, 1.8, NO_REDIS) : row(against, 1.8),
    );
    return [row(BARE, 0.25), ...bull];
  } finally {
    for (const { close } of workers) await close();
    await sender.close();
    await pool.close();
    await redis?.stop();
  }
}

function skipped(against: string, target: number, why: string): Row {
  return { what: WHAT, against, unit: "msg/s", skipped: why, target: atLeast(target) };
}

async function run(context: BenchContext): Promise<{ rows: Row[] }> {
  const { rounds, progress } = context;
  return withChildren([startChild("sink")], async ({ ready }) =>
    withTemporaryFolder(async (folder) => {
      const server = await startPostgres(folder);
      if (server === undefined)
        return {
          rows: [skipped(BARE, 0.25, NO_POSTGRES), ...BULL.map((one) => skipped(one, 1.8, NO_POSTGRES))],
        };
      try {
        progress("sender, PostgreSQL store, against a bare loop and BullMQ");
        const url = `http://127.0.0.1:${ready as number}/`;
        const rows = await measured(server.url, url, folder, rounds(ROUNDS));
        return { rows: [...rows, await twoWorkers(server.url, context)] };
      } finally {
        await server.stop();
      }
    }),
  );
}

export const postgres: Bench = {
  name: "postgres",
  about: "messages a second from the call to the delivery, through a store that several processes share",
  run,
};
