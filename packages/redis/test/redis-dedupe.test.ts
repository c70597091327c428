import { memoryDedupe, sign, type DedupeStore } from "@countersign/core";
import { redisDedupe, type RedisClient } from "@countersign/redis";
import { Redis as UpstashRedis } from "@upstash/redis";
import { Redis } from "ioredis";
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient, createClientPool } from "redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRedis, startRedis, titleOf } from "./support/start-redis.ts";
import { startRest } from "./support/start-rest.ts";

const redis = await openRedis();
const rest = await startRest(redis?.url ?? "redis://127.0.0.1");
const children: ChildProcess[] = [];

/** A busy machine takes longer to answer than a webhook may wait. */
const PATIENT = { timeout: "20s" } as const;

/** A key that no other test uses, nor another run on the same server. */
const newKey = (): string => `key-${randomUUID()}`;

/** Asks again until the answer is yes. */
async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check()));
}

describe.skipIf(redis === undefined)(`redisDedupe (${titleOf(redis)})`, () => {
  const url = redis?.url ?? "redis://127.0.0.1";
  const ioredis = new Redis(url, { lazyConnect: true });
  const nodeRedis = createClient({ url });
  const pool = createClientPool({ url });
  const upstash = new UpstashRedis({ url: rest.url, token: rest.token });
  const plainUpstash = new UpstashRedis({
    url: rest.url,
    token: rest.token,
    enableAutoPipelining: false,
    responseEncoding: false,
  });

  beforeAll(async () => {
    await Promise.all([ioredis.connect(), nodeRedis.connect(), pool.connect()]);
  });

  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    ioredis.disconnect();
    nodeRedis.destroy();
    pool.destroy();
    await rest.stop();
    await redis?.stop();
  });

  describe.each<[string, RedisClient]>([
    ["ioredis", ioredis],
    ["node-redis", nodeRedis],
    ["a pool of node-redis", pool],
    ["@upstash/redis", upstash],
    ["@upstash/redis without its pipelines and its encoding", plainUpstash],
  ])("with %s", (_, client) => {
    const store = (options = {}): DedupeStore => redisDedupe(client, { ...PATIENT, ...options });

    it("gives a key once, until it is released", async () => {
      const [one, other] = [store(), store()];
      const key = newKey();
      expect(await one.claim(key)).toBe("new");
      expect(await other.claim(key)).toBe("in-flight");
      await one.release(key);
      expect(await other.claim(key)).toBe("new");
      await other.commit(key);
      expect(await one.claim(key)).toBe("done");
    });

    it("gives a key to one of many simultaneous claims", async () => {
      const key = newKey();
      const claims = await Promise.all(Array.from({ length: 50 }, async () => store().claim(key)));
      expect(claims.toSorted()).toEqual([...Array.from({ length: 49 }, () => "in-flight"), "new"]);
    });

    it("lets a claim expire, so that a dead receiver does not block others", async () => {
      const [dead, alive] = [store({ lease: "30ms" }), store({ lease: "1m" })];
      const key = newKey();
      await dead.claim(key);
      await until(async () => (await alive.claim(key)) === "new");
      expect(await store().claim(key)).toBe("in-flight");
    });

    it("does not release a claim that somebody else has taken over", async () => {
      const [slow, other] = [store({ lease: "30ms" }), store()];
      const key = newKey();
      await slow.claim(key);
      await until(async () => (await other.claim(key)) === "new");
      await slow.release(key);
      expect(await store().claim(key)).toBe("in-flight");
    });

    it("forgets a handled delivery after the time to live, and not before", async () => {
      const [short, long] = [store({ ttl: "30ms" }), store({ ttl: "1h", prefix: "long:" })];
      const key = newKey();
      for (const handled of [short, long]) {
        await handled.claim(key);
        await handled.commit(key);
      }
      await until(async () => (await short.claim(key)) === "new");
      expect(await long.claim(key)).toBe("done");
      expect(Math.round((await ioredis.pttl(`long:${key}`)) / 60_000)).toBe(60);
    });

    it("keeps the keys of two prefixes apart", async () => {
      const key = newKey();
      expect(await store({ prefix: "a:" }).claim(key)).toBe("new");
      expect(await store({ prefix: "b:" }).claim(key)).toBe("new");
    });
  });

  it("answers as memoryDedupe does, whatever happens in which order", async () => {
    const key = newKey();
    const stores: DedupeStore[] = [memoryDedupe(), redisDedupe(ioredis, PATIENT)];
    const steps = ["claim", "release", "claim", "claim", "commit", "claim", "release", "claim"] as const;
    const seen = await Promise.all(
      stores.map(async (store) => {
        const answers: unknown[] = [];
        for (const step of steps) answers.push(await store[step](key));
        return answers;
      }),
    );
    expect(seen[1]).toEqual(seen[0]);
  });

  it("runs the handler once when two processes get the same delivery ten times at once", async () => {
    const receivers = await Promise.all([startReceiver(url), startReceiver(url)]);
    const messageId = newKey();
    const message = { type: "track", messageId, userId: "u1", event: "Order Completed" };
    const body = JSON.stringify(message);
    const headers = { "content-type": "application/json", "x-signature": sign(body, "secret") };
    const post = async (copy: number): Promise<number> => {
      const response = await fetch(receivers[copy % 2]!.url, { method: "POST", headers, body });
      await response.arrayBuffer();
      return response.status;
    };
    const statuses = await Promise.all(Array.from({ length: 10 }, (_, copy) => post(copy)));
    // One is handled. The others are told to come again while that goes on, or that it is done.
    expect(statuses.filter((status) => status === 204)).toEqual([204]);
    expect(statuses.filter((status) => ![200, 204, 503].includes(status))).toEqual([]);
    expect(await post(0)).toBe(200);
    expect(await post(1)).toBe(200);
    expect(receivers.flatMap(({ handled }) => handled)).toEqual([messageId]);
  });

  it("releases a claim that takes effect after its release, as over two connections of a pool", async () => {
    const gate = new EventEmitter();
    const opened = once(gate, "open");
    const calls: Promise<unknown>[] = [];
    const slow: RedisClient = {
      eval(script: string, options: { keys: string[]; arguments: string[] }) {
        const isFirst = calls.length === 0;
        const call = (isFirst ? opened : Promise.resolve()).then(async () => nodeRedis.eval(script, options));
        calls.push(call);
        return call;
      },
    };
    const key = newKey();
    await expect(redisDedupe(slow, { timeout: "20ms" }).claim(key)).rejects.toThrow("did not answer");
    // The release, which finds nothing yet.
    expect(await calls[1]).toBe(0);
    gate.emit("open");
    expect(await calls[0]).toBe("new");
    await until(async () => (await redisDedupe(nodeRedis, PATIENT).claim(key)) === "new");
  });

  it("says that Redis does not answer, instead of keeping the sender waiting", async ({ skip }) => {
    const stopped = await startRedis();
    if (stopped === undefined) {
      skip("this machine has no redis-server that could be stopped");
      return;
    }
    const client = new Redis(stopped.url);
    // Connected first: on a busy machine, that may take longer than the short time below.
    expect(await redisDedupe(client, PATIENT).claim("a")).toBe("new");
    stopped.process.kill("SIGSTOP");
    await expect(redisDedupe(client, { timeout: "50ms" }).claim("b")).rejects.toThrow(
      /did not answer within 50 ms/,
    );
    stopped.process.kill("SIGCONT");
    client.disconnect();
    await stopped.stop();
  });
});

describe("the arguments of redisDedupe", () => {
  const client = { eval: async (): Promise<string> => "new" };

  it.each([
    [undefined, {}, /takes a client of ioredis, node-redis or @upstash\/redis first: .*not undefined/],
    ["redis://:hush@127.0.0.1", {}, /not a string\.$/],
    [client, { tll: "1h" }, /unknown option "tll"; did you mean "ttl"\?/],
    [client, { ttl: "an hour" }, /redisDedupe\(\{ ttl \}\) must be milliseconds or text/],
    [client, { lease: 0 }, /must be longer than 0/],
    [client, { prefix: 7 }, /prefix \}\) must be a string/],
  ])("are checked at creation: %j, %j", (given, options, message) => {
    expect(() => redisDedupe(given as never, options as never)).toThrow(TypeError);
    expect(() => redisDedupe(given as never, options as never)).toThrow(message);
  });

  it("rejects an answer that is not a claim", async () => {
    const store = redisDedupe({ eval: async () => "PONG" });
    await expect(store.claim("a")).rejects.toThrow('Redis answered a claim with "PONG"');
  });
});

async function startReceiver(redisUrl: string): Promise<{ url: string; handled: string[] }> {
  const program = fileURLToPath(new URL("support/child-receiver.mjs", import.meta.url));
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, REDIS_URL: redisUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const handled: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => {
    if (line.startsWith("handled ")) handled.push(line.slice("handled ".length));
  });
  const [first] = (await once(lines, "line")) as [string];
  return { url: `http://127.0.0.1:${first.slice("port ".length)}/`, handled };
}
