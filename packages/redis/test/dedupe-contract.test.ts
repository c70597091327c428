import { redisDedupe } from "@countersign/redis";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { afterAll, describe } from "vitest";
import { testDedupeStore, type OpenStore } from "../../core/test/support/dedupe-contract.ts";
import { openRedis, titleOf } from "./support/start-redis.ts";

const redis = await openRedis();
const run = randomUUID();

describe.skipIf(redis === undefined)(`the contract of a DedupeStore (${titleOf(redis)})`, () => {
  const url = redis?.url ?? "redis://127.0.0.1";
  const clients = [new Redis(url, { lazyConnect: true }), new Redis(url, { lazyConnect: true })] as const;
  let stores = 0;

  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await redis?.stop();
  });

  testDedupeStore("redisDedupe", (): OpenStore => {
    stores += 1;
    // A busy machine takes longer to answer than a webhook may wait.
    const options = { prefix: `contract-${run}-${stores}:`, timeout: "20s" } as const;
    const [one, other] = clients;
    /** Lets the time of the keys pass that hold such a value: Redis is told that it is over. */
    const expire = async (isOver: (value: string | null) => boolean): Promise<void> => {
      for (const key of await one.keys(`${options.prefix}*`)) {
        if (isOver(await one.get(key))) await one.pexpire(key, 0);
      }
    };
    return {
      store: redisDedupe(one, options),
      elsewhere: redisDedupe(other, options),
      passLease: () => expire((value) => value !== "done"),
      passTtl: () => expire(() => true),
    };
  });
});
