import { describeKind } from "@countersign/protocol";

/** The methods that are used of an ioredis client: `new Redis()` or `new Cluster()`. */
export interface IoredisClient {
  /** Runs a Lua script. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Only ioredis has it. */
  defineCommand(name: string, definition: { lua: string }): void;
}

/** The methods that are used of a node-redis client: `createClient()`, `createClientPool()` or `createCluster()`. */
export interface NodeRedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** A connected client of ioredis 5 or later, or of node-redis 4 or later. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** Runs a script on one key, whichever library the client is from. */
export type RunScript = (script: string, key: string, args: readonly string[]) => Promise<unknown>;

/** @throws TypeError if it is not a client. */
export function scriptRunner(client: RedisClient): RunScript {
  if (typeof (client as Partial<RedisClient> | null | undefined)?.eval !== "function") {
    throw new TypeError(
      `redisDedupe() takes a client of ioredis or node-redis first: redisDedupe(client, { ttl }), not ${describeKind(client)}.`,
    );
  }
  return isIoredis(client)
    ? (script, key, args) => client.eval(script, 1, key, ...args)
    : (script, key, args) => client.eval(script, { keys: [key], arguments: [...args] });
}

function isIoredis(client: RedisClient): client is IoredisClient {
  return "defineCommand" in client && typeof client.defineCommand === "function";
}
