import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "./free-port.ts";

/** A PostgreSQL server of our own. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Debian keeps the programs of the server off the PATH. */
function programs(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

function idOf(flag: "-u" | "-g"): number {
  return Number(spawnSync("id", [flag, "postgres"]).stdout.toString());
}

/** The server refuses root. */
function asServerUser(program: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [program, [...args]];
  return ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program, ...args]];
}

/**
 * Starts Debian's PostgreSQL in a folder, with its own defaults: every commit is synced to the disk before it is answered. It
 * is reached by TCP, as on another machine. Its log is as that of a server that has run for a while.
 *
 * @returns undefined when the machine has none
 */
export async function startPostgres(folder: string): Promise<PostgresServer | undefined> {
  const bin = programs();
  if (bin === undefined) return undefined;
  const data = join(folder, "postgres");
  mkdirSync(data);
  if (process.getuid?.() === 0) {
    for (const path of [folder, data]) chownSync(path, idOf("-u"), idOf("-g"));
  }
  const [initdb, args] = asServerUser(join(bin, "initdb"), [
    "-D",
    data,
    "-U",
    "bench",
    "-A",
    "trust",
    "--no-sync",
  ]);
  const made = spawnSync(initdb, args, { cwd: folder });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const port = await freePort();
  const where = ["-h", "127.0.0.1", "-p", `${port}`, "-k", data];
  const [postgres, flags] = asServerUser(join(bin, "postgres"), ["-D", data, ...where]);
  const server = spawn(postgres, flags, { cwd: folder, stdio: "ignore" });
  const exited = once(server, "exit");
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  await answered(url);
  await recycleLog(url);
  return {
    url,
    async stop() {
      server.kill("SIGINT");
      await exited;
    },
  };
}

/** Files of the write-ahead log, of 16 MB each, that are written before a measurement: more than a bench writes. */
const LOG_FILES = 32;

/**
 * Writes the log around once, so that its files are there to be used again, as on every server after its first minutes. On a
 * new one every 16 MB a file is filled with zeros and synced, while commits wait for 50 to 80 ms.
 */
async function recycleLog(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (let file = 0; file < LOG_FILES; file += 1) {
    await client.query("SELECT pg_logical_emit_message(false, 'bench', 'next')");
    await client.query("SELECT pg_switch_wal()");
  }
  await client.query("CHECKPOINT");
  await client.end();
}

/** Connects until the server answers. */
async function answered(url: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (attempt === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
