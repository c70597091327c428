import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Redis } from "ioredis";

/** A Redis server of our own. */
export interface RedisServer {
  /** Path of its Unix socket. */
  readonly path: string;
  stop(): Promise<void>;
}

/**
 * Starts Debian's `redis-server` in a folder, with an append-only file synced every second, which is what its
 * documentation advises for a queue.
 *
 * @returns undefined when the machine has none
 */
export async function startRedis(folder: string): Promise<RedisServer | undefined> {
  const path = join(folder, "redis.sock");
  const args = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"];
  const server = spawn("redis-server", args, { stdio: "ignore" });
  const exited = once(server, "exit");
  const hasStarted = await Promise.race([
    once(server, "spawn").then(() => true),
    exited.then(
      () => false,
      () => false,
    ),
    once(server, "error").then(() => false),
  ]).catch(() => false);
  if (!hasStarted) {
    await exited.catch(() => {});
    return undefined;
  }
  await answered(path);
  return {
    path,
    async stop() {
      server.kill();
      await exited;
    },
  };
}

/** Connects until Redis answers. */
async function answered(path: string): Promise<void> {
  const redis = new Redis({ path, retryStrategy: () => 20, maxRetriesPerRequest: 500 });
  redis.on("error", () => {});
  await redis.ping();
  redis.disconnect();
}
