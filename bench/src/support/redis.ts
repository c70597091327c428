import { spawn } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";

/** A Redis server of our own. */
export interface RedisServer {
  /** On 127.0.0.1. */
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts Debian's `redis-server` in a folder, with an append-only file synced every second, which is what its
 * documentation advises for a queue. It is reached by TCP, as on another machine.
 *
 * @returns undefined when the machine has none
 */
export async function startRedis(folder: string): Promise<RedisServer | undefined> {
  const port = await freePort();
  const settings = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes" };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
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
  await answered(port);
  return {
    port,
    async stop() {
      server.kill();
      await exited;
    },
  };
}

/** Connects until Redis answers. */
async function answered(port: number): Promise<void> {
  const redis = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20, maxRetriesPerRequest: 500 });
  redis.on("error", () => {});
  await redis.ping();
  redis.disconnect();
}
