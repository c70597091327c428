import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Queue, Worker } from "bullmq";
import type { Pool } from "undici";
import type { Bench, BenchContext } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { atLeast, compare, type Row } from "../harness/row.ts";
import { orderMessage, signedPost, trackMany } from "../support/calls.ts";
import { startChild, withChildren } from "../support/child.ts";
import { bareLoop, CONNECTIONS, forwarding, openPool, openSender, perSecond } from "../support/forwarders.ts";
import { startRedis } from "../support/redis.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const MESSAGES = 5_000;
const ROUNDS = 7;
const NO_REDIS = "no redis-server on this machine";

type Post = (message: object) => Promise<void>;

/** A queue and a worker as BullMQ's documentation shows them: a job a message, fifty at once. */
export function bullWorker(
  name: string,
  port: number,
  post: Post,
): { contender: Contender; close: () => Promise<void> } {
  const queueName = randomUUID();
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue(queueName, { connection, defaultJobOptions: { removeOnComplete: true } });
  const worker = new Worker<object>(queueName, ({ data }) => post(data), {
    connection,
    concurrency: CONNECTIONS,
  });
  const measure = (): Promise<number> =>
    perSecond(MESSAGES, async () => {
      const delivered = new Promise<void>((resolve, reject) => {
        let completed = 0;
        worker.on("completed", () => {
          completed += 1;
          if (completed === MESSAGES) resolve();
        });
        worker.on("failed", (_, error) => reject(error));
      });
      await trackMany(MESSAGES, (index) => queue.add("message", orderMessage(index)));
      await delivered;
      worker.removeAllListeners();
    });
  return {
    contender: { name, measure },
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}

export function postWithUndici(pool: Pool): Post {
  return async (message) => {
    const { statusCode, body } = await pool.request({ method: "POST", path: "/", ...signedPost(message) });
    await body.dump();
    if (statusCode !== 200) throw new Error(`The endpoint answered ${statusCode}.`);
  };
}

export function postWithFetch(url: string): Post {
  return async (message) => {
    const response = await fetch(url, { method: "POST", ...signedPost(message) });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`The endpoint answered ${response.status}.`);
  };
}

/** The sender against a loop that keeps nothing. */
async function againstBareLoop(url: string, folder: string, rounds: number): Promise<Row[]> {
  const pool = openPool(url);
  const inFile = await openSender({ urls: [url], path: join(folder, "sender.db") });
  const inMemory = await openSender({ urls: [url] });
  try {
    const contenders = [
      forwarding("file", inFile, MESSAGES),
      bareLoop("bare", pool, MESSAGES),
      forwarding("memory", inMemory, MESSAGES),
    ];
    const measured = await alternate(contenders, { rounds, warmups: 2 });
    const versus = { against: "undici, nothing stored", unit: "msg/s", theirs: "bare" };
    return [
      compare(measured, { ...versus, what: "sender, file store", ours: "file", target: atLeast(0.45) }),
      compare(measured, { ...versus, what: "sender, memory store", ours: "memory", target: atLeast(0.6) }),
    ];
  } finally {
    await inFile.close();
    await inMemory.close();
    await pool.close();
  }
}

/** The sender against BullMQ on a Redis of its own. */
async function againstBullMq(url: string, folder: string, rounds: number): Promise<Row[]> {
  const what = "sender, file store";
  const peers = ["BullMQ worker posting with undici", "BullMQ worker posting with fetch"] as const;
  const redis = await startRedis(folder);
  if (redis === undefined)
    return peers.map((against) => ({ what, against, unit: "msg/s", skipped: NO_REDIS, target: atLeast(3) }));
  const pool = openPool(url);
  const sender = await openSender({ urls: [url], path: join(folder, "beside-redis.db") });
  const workers = [
    bullWorker(peers[0], redis.port, postWithUndici(pool)),
    bullWorker(peers[1], redis.port, postWithFetch(url)),
  ];
  try {
    const contenders = [forwarding("sender", sender, MESSAGES), ...workers.map(({ contender }) => contender)];
    const measured = await alternate(contenders, { rounds });
    return peers.map((against) =>
      compare(measured, {
        what,
        against,
        unit: "msg/s",
        ours: "sender",
        theirs: against,
        target: atLeast(3),
      }),
    );
  } finally {
    for (const { close } of workers) await close();
    await sender.close();
    await pool.close();
    await redis.stop();
  }
}

async function run({ rounds, progress }: BenchContext): Promise<{ rows: Row[] }> {
  return withChildren([startChild("sink")], async ({ ready }) =>
    withTemporaryFolder(async (folder) => {
      const url = `http://127.0.0.1:${ready as number}/`;
      progress("sender, file and memory store, against a bare loop");
      const limits = await againstBareLoop(url, folder, rounds(ROUNDS));
      progress("sender, against BullMQ");
      return { rows: [...limits, ...(await againstBullMq(url, folder, rounds(5)))] };
    }),
  );
}

export const sender: Bench = {
  name: "sender",
  about: "messages a second from the call to the delivery, the endpoint in a process of its own",
  run,
};
