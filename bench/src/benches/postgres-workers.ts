import { cpus } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import type { BenchContext } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { atLeast, compare, type Row } from "../harness/row.ts";
import { trackMany, trackOrder } from "../support/calls.ts";
import { type Child, startChild, withChildren } from "../support/child.ts";
import { perSecond } from "../support/forwarders.ts";
import { openOnPostgres } from "../support/postgres-sender.ts";

const MESSAGES = 5_000;
const WHAT = { what: "two processes on one PostgreSQL", against: "one process", unit: "msg/s" };

/** Cores with which a second process can be quicker: one for each that delivers, one for the endpoint, two for the database. */
const CORES = 5;

/** Messages a second of so many processes that deliver, from the first call of another process to the last answer of the endpoint. */
async function workers(
  count: number,
  database: string,
): Promise<{ contender: Contender; children: readonly Child[]; close: () => Promise<void> }> {
  const sink = await startChild("sink");
  const endpoint = `http://127.0.0.1:${sink.ready as number}/`;
  const schema = `workers_${count}`;
  const delivering = await Promise.all(
    Array.from({ length: count }, () => startChild("worker", [database, schema, endpoint])),
  );
  const ingest = await openOnPostgres({ database, schema, endpoint, deliver: false });
  const answered = async (): Promise<number> => Number(await sink.ask("count"));
  const measure = (): Promise<number> =>
    perSecond(MESSAGES, async () => {
      const until = (await answered()) + MESSAGES;
      await trackMany(MESSAGES, (index) => trackOrder(ingest, index));
      while ((await answered()) < until) await wait(5);
    });
  return {
    contender: { name: schema, measure },
    children: [sink, ...delivering],
    close: () => ingest.close(),
  };
}

/** Whether a second process makes it quicker, where there are cores for that. */
export async function twoWorkers(database: string, { rounds, progress }: BenchContext): Promise<Row> {
  const cores = cpus().length;
  const target = atLeast(1.6);
  if (cores < CORES) {
    const skipped = `${cores} cores: both processes, the endpoint and the database need ${CORES}`;
    return { ...WHAT, skipped, target };
  }
  progress("two processes on one PostgreSQL");
  const [one, two] = [await workers(1, database), await workers(2, database)];
  return withChildren(
    [...one.children, ...two.children].map((child) => Promise.resolve(child)),
    async () => {
      const measured = await alternate([one.contender, two.contender], { rounds: rounds(5) });
      await Promise.all([one.close(), two.close()]);
      return compare(measured, { ...WHAT, ours: two.contender.name, theirs: one.contender.name, target });
    },
  );
}
