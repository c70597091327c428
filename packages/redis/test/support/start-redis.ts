import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guardFolder } from "../../../core/test/support/guard.ts";
import { freePort } from "../../../../tests/support/free-port.ts";

/** A Redis server for tests. */
export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** A Redis server of the test's own. */
export interface OwnRedis extends TestRedis {
  readonly process: ChildProcess;
}

/** Which server the tests use, or why there is none, for the title of a suite. */
export function titleOf(redis: TestRedis | undefined): string {
  if (redis === undefined) return "skipped: this machine has no redis-server, and REDIS_URL is not set";
  return process.env["REDIS_URL"] === undefined ? "redis-server of this machine" : "the server of REDIS_URL";
}

/** The server that `REDIS_URL` names, else one of the test's own. Tests leave the keys of others on it alone. */
export async function openRedis(): Promise<TestRedis | undefined> {
  const url = process.env["REDIS_URL"];
  return url === undefined ? startRedis() : { url, stop: async () => {} };
}

/**
 * Starts redis-server on a free port with a folder of its own; `undefined` if the system has none. It ends with this process,
 * whatever ends that.
 *
 * @param more Further arguments. With `--sentinel`, it is a Sentinel.
 */
export async function startRedis(...more: string[]): Promise<OwnRedis | undefined> {
  const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), "countersign-redis-"))];
  // A Sentinel needs a file, to which it writes what it learns.
  const file = join(folder, "redis.conf");
  await writeFile(file, "");
  const args = [file, "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", ...more];
  const child = spawn("redis-server", args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const isThere = await once(child, "spawn").then(
    () => true,
    () => false,
  );
  if (!isThere) {
    await rm(folder, { recursive: true });
    return undefined;
  }
  const guard = guardFolder(folder);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    await guard.end();
  };
  const isReady = await new Promise<boolean>((resolve) => {
    child.once("exit", () => resolve(false));
    child.stdout?.on("data", (text: Buffer) => {
      if (/Ready to accept connections|Sentinel ID is/.test(text.toString())) resolve(true);
    });
  });
  if (isReady) return { url: `redis://127.0.0.1:${port}`, process: child, stop };
  await stop();
  return undefined;
}
