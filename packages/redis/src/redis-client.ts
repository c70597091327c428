import { nameKind } from "@countersign/protocol";

/** The methods that are used of an ioredis client: `new Redis()` or `new Cluster()`. */
export interface IoredisClient {
  /** Runs a Lua script. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Only ioredis has it. */
  defineCommand(name: string, definition: { lua: string }): void;
}

/** The methods that are used of a node-redis client: `createClient()`, `createClientPool()`, `createCluster()` or `createSentinel()`. */
export interface NodeRedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The methods that are used of a client of `@upstash/redis`: `new Redis()`. */
export interface UpstashClient {
  /** Runs a Lua script. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /** Only `@upstash/redis` has it. */
  createScript(script: string): unknown;
}

/** A client of ioredis 5 or later or of node-redis 4 or later, connected, or of `@upstash/redis` 1, which needs no connection. */
export type RedisClient = IoredisClient | NodeRedisClient | UpstashClient;

/** Runs a script on one key, whichever library the client is from. */
export type RunScript = (script: string, key: string, args: readonly string[]) => Promise<unknown>;

/** @throws TypeError if it is not a client. */
export function scriptRunner(client: RedisClient): RunScript {
  if (typeof (client as Partial<RedisClient> | null | undefined)?.eval !== "function") {
    throw new TypeError(
      `redisDedupe() takes a client of ioredis, node-redis or @upstash/redis first: redisDedupe(client, { ttl }), not ${nameKind(client)}.`,
    );
  }
  if (isIoredis(client)) return (script, key, args) => client.eval(script, 1, key, ...args);
  if (isUpstash(client)) return (script, key, args) => client.eval(script, [key], [...args]);
  return (script, key, args) => client.eval(script, { keys: [key], arguments: [...args] });
}

function isIoredis(client: RedisClient): client is IoredisClient {
  return "defineCommand" in client && typeof client.defineCommand === "function";
}

function isUpstash(client: RedisClient): client is UpstashClient {
  return "createScript" in client && typeof client.createScript === "function";
}
