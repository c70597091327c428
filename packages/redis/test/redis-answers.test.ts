import { redisDedupe, type RedisClient } from "@countersign/redis";
import { Cluster, Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { createClient, createCluster, createSentinel } from "redis";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../tests/support/free-port.ts";
import { type OwnRedis, startRedis } from "./support/start-redis.ts";

const redis = await startRedis();
const title =
  redis === undefined ? "skipped: this machine has no redis-server" : "redis-server of this machine";

/** A busy machine takes longer to answer than a webhook may wait. */
const PATIENT = { timeout: "20s" } as const;

/** Asks again until the answer is yes. */
async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check().catch(() => false)));
}

function portOf(server: OwnRedis): number {
  return Number(new URL(server.url).port);
}

async function start(...args: string[]): Promise<OwnRedis> {
  const server = await startRedis(...args);
  if (server === undefined) throw new Error("redis-server does not start with these arguments.");
  onTestFinished(() => server.stop());
  return server;
}

function connect(port: number): Redis {
  const client = new Redis(port, { enableReadyCheck: false });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

describe.skipIf(redis === undefined)(
  `a Redis that is not one server with all rights (${title})`,
  // Servers find each other, and a Sentinel a new master, within many seconds on a busy machine.
  { timeout: 120_000 },
  () => {
    afterAll(() => redis?.stop());

    /** Three masters, each with a third of the slots. */
    async function startCluster(): Promise<readonly number[]> {
      const ports: number[] = [];
      for (const [from, to] of [
        [0, 5460],
        [5461, 10_922],
        [10_923, 16_383],
      ] as const) {
        const bus = await freePort();
        const node = connect(portOf(await start("--cluster-enabled", "yes", "--cluster-port", String(bus))));
        await node.call("CLUSTER", "ADDSLOTSRANGE", from, to);
        const first = ports[0] === undefined ? undefined : connect(ports[0]);
        await first?.call("CLUSTER", "MEET", "127.0.0.1", node.options.port ?? 0, bus);
        ports.push(node.options.port ?? 0);
      }
      for (const port of ports) {
        const node = connect(port);
        await until(async () => String(await node.call("CLUSTER", "INFO")).includes("cluster_state:ok"));
      }
      return ports;
    }

    /** What a key goes through, on as many keys as reach all nodes. */
    async function claimMany(client: RedisClient): Promise<readonly string[]> {
      const store = redisDedupe(client, { prefix: `${randomUUID()}:`, ...PATIENT });
      const answers = Array.from({ length: 30 }, async (_, key) => {
        const first = await store.claim(`key ${key}`);
        const second = await store.claim(`key ${key}`);
        await store.release(`key ${key}`);
        const again = await store.claim(`key ${key}`);
        await store.commit(`key ${key}`);
        return [first, second, again, await store.claim(`key ${key}`)].join(" ");
      });
      return [...new Set(await Promise.all(answers))];
    }

    it("is used as a cluster of three masters by both libraries, and a client of one node is told what to use instead", async () => {
      const ports = await startCluster();
      const ioredis = new Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
      onTestFinished(() => ioredis.disconnect());
      const nodeRedis = createCluster({
        rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      });
      nodeRedis.on("error", () => {});
      await nodeRedis.connect();
      onTestFinished(() => nodeRedis.destroy());
      expect(await claimMany(ioredis)).toEqual(["new in-flight new done"]);
      expect(await claimMany(nodeRedis)).toEqual(["new in-flight new done"]);
      await expect(claimMany(connect(ports[0] ?? 0))).rejects.toThrow(
        /^redisDedupe: Redis failed: MOVED .*\. It is a cluster, .*createCluster\(\) of node-redis\.$/,
      );
    });

    it("is found again by both libraries when Sentinel has made a replica the master, and knows what was handled", async () => {
      const master = await start();
      const replica = await start("--replicaof", "127.0.0.1", String(portOf(master)));
      const sentinel = await start("--sentinel");
      const control = connect(portOf(sentinel));
      await control.call("SENTINEL", "MONITOR", "mymaster", "127.0.0.1", portOf(master), 1);
      const root = { host: "127.0.0.1", port: portOf(sentinel) };
      const ioredis = new Redis({ sentinels: [root], name: "mymaster" });
      ioredis.on("error", () => {});
      onTestFinished(() => ioredis.disconnect());
      const nodeRedis = createSentinel({ name: "mymaster", sentinelRootNodes: [root] });
      nodeRedis.on("error", () => {});
      await nodeRedis.connect();
      onTestFinished(() => nodeRedis.destroy());
      // Not as patient: while there is no master, a claim may get no answer, and is asked again.
      const stores = [ioredis, nodeRedis].map((client) => redisDedupe(client, { timeout: "5s" }));
      for (const [key, store] of stores.entries()) {
        expect(await store.claim(`key ${key}`)).toBe("new");
        await store.commit(`key ${key}`);
      }
      const [first, second] = [connect(portOf(master)), connect(portOf(replica))];
      await until(async () => (await first.wait(1, 0)) === 1);
      await until(async () => (await control.call("SENTINEL", "FAILOVER", "mymaster")) === "OK");
      await until(async () => (await second.role())[0] === "master");
      for (const [key, store] of stores.entries()) {
        // Until then, the former master answers, too, and it breaks the connections to it.
        await until(async () => {
          const another = randomUUID();
          const claim = await store.claim(another);
          return claim === "new" && (await second.exists(`countersign:${another}`)) === 1;
        });
        expect(await store.claim(`key ${key}`)).toBe("done");
      }
    });

    it.each<[what: string, set: readonly string[], advice: string]>([
      [
        "a replica",
        ["REPLICAOF", "127.0.0.1", "1"],
        "The client leads to a replica. Connect it to the primary.",
      ],
      ["full memory", ["CONFIG", "SET", "maxmemory", "1"], "Its memory is full. Raise maxmemory,"],
      [
        "a user without EVAL",
        ["ACL", "SETUSER", "default", "-eval"],
        "needs the commands EVAL, GET, SET and DEL,",
      ],
      [
        "a user without SET",
        ["ACL", "SETUSER", "default", "-set"],
        "needs the commands EVAL, GET, SET and DEL,",
      ],
      [
        "a user of other keys",
        ["ACL", "SETUSER", "default", "resetkeys", "~other:*"],
        "the keys that begin with the prefix",
      ],
    ])(
      "says what to do about %s, which Redis says in words of its own",
      async (_, [name = "", ...args], advice) => {
        const server = await start();
        await connect(portOf(server)).call(name, ...args);
        const nodeRedis = createClient({ url: server.url });
        nodeRedis.on("error", () => {});
        await nodeRedis.connect();
        onTestFinished(() => nodeRedis.destroy());
        for (const client of [connect(portOf(server)), nodeRedis]) {
          const failure = await Promise.resolve(redisDedupe(client, PATIENT).claim("a")).catch(
            (error: unknown) => error,
          );
          expect(failure).toMatchObject({
            message: expect.stringMatching(/^redisDedupe: Redis failed: /),
            cause: expect.any(Error),
          });
          expect((failure as Error).message).toContain(advice);
        }
      },
    );

    it("forgets what was handled where maxmemory-policy removes keys, and refuses where it is noeviction, as the README says", async () => {
      const server = await start();
      const client = connect(portOf(server));
      const store = redisDedupe(client, PATIENT);
      await store.claim("a");
      await store.commit("a");
      await client.config("SET", "maxmemory", "1");
      expect(await store.claim("a")).toBe("done");
      await expect(store.claim("b")).rejects.toThrow("Its memory is full.");
      await client.config("SET", "maxmemory-policy", "volatile-lru");
      // Redis removes keys when a command needs memory, and then has none for the command either.
      await until(async () => {
        await Promise.resolve(store.claim("b")).catch(() => undefined);
        return (await client.exists("countersign:a")) === 0;
      });
      await client.config("SET", "maxmemory", "0");
      expect(await store.claim("a")).toBe("new");
    });

    it("says what to do about a password that the client lacks", async () => {
      const server = await start("--requirepass", "secret");
      const claim = Promise.resolve(redisDedupe(connect(portOf(server)), PATIENT).claim("a"));
      await expect(claim).rejects.toThrow(/NOAUTH.* Check the user and the password of the client\.$/);
    });

    it("needs no more rights than the README says", async () => {
      const server = await start();
      const rights = ["resetkeys", "~countersign:*", "nocommands", "+eval", "+get", "+set", "+del"];
      await connect(portOf(server)).call("ACL", "SETUSER", "default", ...rights);
      const client = connect(portOf(server));
      const store = redisDedupe(client, PATIENT);
      expect(await store.claim("a")).toBe("new");
      await store.release("a");
      expect(await store.claim("a")).toBe("new");
      await store.commit("a");
      expect(await store.claim("a")).toBe("done");
    });
  },
);
