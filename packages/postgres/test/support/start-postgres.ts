import { spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

/** A PostgreSQL server of the test's own, or the one that POSTGRES_URL names. */
export interface TestPostgres {
  readonly url: string;
  /** Port on 127.0.0.1. */
  readonly port: number;
  /** Process id of the server; undefined for the one of POSTGRES_URL. */
  pid(): number | undefined;
  /** Starts it again after it was killed. */
  start(): Promise<void>;
  /** Sends every process of the server a signal. */
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

const PASSWORD = "a-password-of-tests";

/** Why there is no server, for the title of what is skipped. */
export const NO_POSTGRES = "skipped: this machine has no PostgreSQL server, and POSTGRES_URL is not set";

/** Debian keeps the programs of the server off the PATH. */
function programs(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(root, version, "bin")), "/usr/local/bin", "/usr/bin"];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** The server refuses root: its programs then run as the user that Debian makes for it. */
function asServerUser(program: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [program, [...args]];
  return ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program, ...args]];
}

function idOf(flag: "-u" | "-g"): number {
  return Number(spawnSync("id", [flag, "postgres"]).stdout.toString());
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function makeCluster(bin: string): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-postgres-"));
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, PASSWORD);
  if (process.getuid?.() === 0)
    for (const path of [folder, passwordFile]) chownSync(path, idOf("-u"), idOf("-g"));
  const args = [
    "-D",
    join(folder, "data"),
    "-U",
    "countersign",
    "--pwfile",
    passwordFile,
    "-E",
    "UTF8",
    "--no-sync",
  ];
  const [command, given] = asServerUser(join(bin, "initdb"), [...args, "--locale=C", "-A", "scram-sha-256"]);
  const made = spawnSync(command, given, { cwd: folder });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  return folder;
}

/**
 * Starts PostgreSQL on a free port with a folder of its own; undefined where the system has none.
 *
 * @param settings Settings of the server, such as `{ max_connections: "20" }`. It syncs to disk unless `fsync` is "off".
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<TestPostgres | undefined> {
  const given = process.env["POSTGRES_URL"];
  if (given !== undefined && Object.keys(settings).length === 0) return existing(given);
  const bin = programs();
  if (bin === undefined) return undefined;
  const [folder, port] = [makeCluster(bin), await freePort()];
  const url = `postgres://countersign:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const options = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    port: String(port),
    ...settings,
  };
  const data = join(folder, "data");
  const start = async (): Promise<void> => {
    const flags = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const [command, args] = asServerUser(join(bin, "postgres"), ["-D", data, ...flags]);
    spawn(command, args, { cwd: folder, stdio: "ignore", detached: true }).unref();
    await answers(url);
  };
  const pid = (): number | undefined => {
    const file = join(data, "postmaster.pid");
    return existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : undefined;
  };
  const signal = (name: NodeJS.Signals): void => {
    const postmaster = pid();
    if (postmaster !== undefined) for (const one of [postmaster, ...childrenOf(postmaster)]) kill(one, name);
  };
  await start();
  return {
    url,
    port,
    pid,
    start,
    signal,
    async stop() {
      const postmaster = pid();
      signal("SIGCONT");
      signal("SIGKILL");
      if (postmaster !== undefined) await ended(postmaster);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function existing(url: string): TestPostgres {
  const refuse = (): never => {
    throw new Error("The server of POSTGRES_URL is not the test's own.");
  };
  const port = Number(new URL(url).port || 5432);
  return {
    url,
    port,
    pid: () => undefined,
    start: async () => refuse(),
    signal: refuse,
    stop: async () => {},
  };
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function ended(pid: number): Promise<void> {
  for (;;) {
    if (!kill(pid, 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function childrenOf(pid: number): readonly number[] {
  const found = spawnSync("ps", ["--ppid", String(pid), "-o", "pid="]).stdout.toString();
  return found.split("\n").flatMap((line) => (line.trim() === "" ? [] : [Number(line)]));
}

/** Connects until the server answers. */
async function answers(url: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (attempt === 400) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

let schemas = 0;

/** The name of a schema that no other test uses. */
export function newSchema(): string {
  schemas += 1;
  return `test_${process.pid}_${schemas}_${Math.trunc(performance.now())}`;
}
