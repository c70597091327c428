import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../../../tests/support/free-port.ts";
import { guardFolder } from "../../../core/test/support/guard.ts";
import {
  asServerUser,
  programs,
  runProgram,
  serverFile,
  serverFolder,
  withSmallDisk,
  withSmallLogDisk,
} from "./postgres-programs.ts";

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
  /** Of a server with a small disk for its log: that disk, as this process sees it. */
  readonly logDisk: string | undefined;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** Settings of the server, such as `{ max_connections: "20" }`. It syncs to disk unless `fsync` is "off". */
export type PostgresSettings = Readonly<Record<string, string>>;

/** What else can be special about a server. */
export interface PostgresKind {
  /** The tablespace `small` is on a disk of so many megabytes. */
  readonly smallDisk?: number;
  /** Its write-ahead log is on a disk of so many megabytes, in segments of one. Whenever it ends, it is started again. */
  readonly smallLogDisk?: number;
  /** It begins as a standby of this server, which it copies. */
  readonly standbyOf?: TestPostgres;
}

const PASSWORD = "a-password-of-tests";

/** What a server says that is started while processes of the one before it, which was killed, have not all ended. */
const IN_THE_WAY = /lock file "postmaster\.pid" already exists|shared memory block .* is still in use/u;

/** Generous: on a busy machine a server recovers for seconds, and a connection to it takes one. */
const [STARTS_WITHIN_MS, CONNECTS_WITHIN_MS] = [50_000, 20_000];

/** Why there is no server, for the title of what is skipped. */
export const NO_POSTGRES = "skipped: this machine has no PostgreSQL server, and POSTGRES_URL is not set";

/**
 * Starts PostgreSQL on a free port with a folder of its own; undefined where the system has none. It ends with this process,
 * whatever ends that.
 */
export async function startPostgres(
  settings: PostgresSettings = {},
  { smallDisk, smallLogDisk, standbyOf }: PostgresKind = {},
): Promise<TestPostgres | undefined> {
  const given = process.env["POSTGRES_URL"];
  const isSpecial = [...Object.keys(settings), smallDisk, smallLogDisk, standbyOf].some(
    (one) => one !== undefined,
  );
  if (given !== undefined && !isSpecial) return existing(given);
  const bin = programs();
  if (bin === undefined) return undefined;
  const [folder, port] = [serverFolder(), await freePort()];
  const guard = guardFolder(folder);
  const [data, disk] = [join(folder, "data"), join(folder, "disk")];
  if (standbyOf === undefined) copyCluster(bin, folder, data, smallLogDisk !== undefined);
  else
    runProgram(join(bin, "pg_basebackup"), ["-d", standbyOf.url, "-D", data, "-R", "-X", "stream"], folder);
  if (smallDisk !== undefined || smallLogDisk !== undefined) mkdirSync(disk);
  const url = `postgres://countersign:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const options = {
    listen_addresses: "127.0.0.1",
    // The path of a socket has 107 bytes at most, and that of the folder for temporary files may have more.
    unix_socket_directories: "",
    port: String(port),
    ...settings,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = asServerUser(join(bin, "postgres"), ["-D", data, ...flags]);
  const [command, ...args] =
    smallLogDisk !== undefined
      ? withSmallLogDisk(disk, smallLogDisk, join(data, "pg_wal"), server)
      : smallDisk === undefined
        ? server
        : withSmallDisk(disk, smallDisk, server);
  const log = join(folder, "log");
  const spawnServer = (): ChildProcess => {
    const printed = openSync(log, "w");
    const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "ignore", printed], detached: true });
    closeSync(printed);
    child.unref();
    return child;
  };
  let started: number | undefined;
  const start = async (): Promise<void> => {
    let child = spawnServer();
    await answers(url, () => {
      if (child.exitCode === null && child.signalCode === null) return;
      const told = readFileSync(log, "utf8").trim();
      if (!IN_THE_WAY.test(told)) throw new Error(`PostgreSQL did not start: ${told}`);
      child = spawnServer();
    });
    started = child.pid;
  };
  const pid = (): number | undefined => {
    const file = join(data, "postmaster.pid");
    return existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : undefined;
  };
  await start();
  if (smallDisk !== undefined) await ask(url, `CREATE TABLESPACE small LOCATION ${pg.escapeLiteral(disk)}`);
  return {
    url,
    port,
    pid,
    start,
    logDisk: smallLogDisk === undefined ? undefined : `/proc/${started}/root${disk}`,
    signal(name) {
      const postmaster = pid();
      if (postmaster === undefined) return;
      if (name === "SIGSTOP") {
        kill(postmaster, name);
        // Until it has stopped, it may make another child, which would answer.
        while (isRunning(postmaster));
      }
      for (const one of [postmaster, ...childrenOf(postmaster)]) kill(one, name);
    },
    promote: async () => void (await ask(url, "SELECT pg_promote()")),
    stop: () => guard.end(),
  };
}

/** The data of servers that never ran, by whether their log has small segments. */
const clusters = new Map<boolean, string>();

/** Copies one that this process has made: making another takes ten times the work. */
function copyCluster(bin: string, folder: string, data: string, hasSmallSegments: boolean): void {
  let cluster = clusters.get(hasSmallSegments);
  if (cluster === undefined) {
    const made = serverFolder();
    guardFolder(made);
    cluster = join(made, "data");
    makeCluster(bin, made, cluster, hasSmallSegments);
    clusters.set(hasSmallSegments, cluster);
  }
  runProgram("cp", ["-a", cluster, data], folder);
}

function makeCluster(bin: string, folder: string, data: string, hasSmallSegments: boolean): void {
  const passwordFile = join(folder, "password");
  serverFile(passwordFile, PASSWORD);
  const segments = hasSmallSegments ? ["--wal-segsize=1"] : [];
  const who = ["-U", "countersign", "--pwfile", passwordFile, "-A", "scram-sha-256"];
  runProgram(
    join(bin, "initdb"),
    ["-D", data, ...who, "-E", "UTF8", "--no-sync", "--locale=C", ...segments],
    folder,
  );
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
    logDisk: undefined,
    signal: refuse,
    promote: async () => refuse(),
    stop: async () => {},
  };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function ps(...args: readonly string[]): string {
  return spawnSync("ps", args).stdout.toString();
}

/** Whether it is there, and neither stopped nor ended. */
function isRunning(pid: number): boolean {
  return /^[^TZ]/.test(ps("-p", String(pid), "-o", "stat="));
}

function childrenOf(pid: number): readonly number[] {
  const found = ps("--ppid", String(pid), "-o", "pid=");
  return found.split("\n").flatMap((line) => (line.trim() === "" ? [] : [Number(line)]));
}

/** A connection of the test's own. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECTS_WITHIN_MS });
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

/** Runs one command on a connection of its own. */
export async function ask<Row>(url: string, text: string): Promise<readonly Row[]>;
export async function ask(url: string, text: string): Promise<readonly unknown[]> {
  const client = await connectTo(url);
  try {
    return (await client.query(text)).rows as readonly unknown[];
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Connects until the server answers.
 *
 * @param check Throws where it never will.
 */
export async function answers(url: string, check: () => void = () => {}): Promise<void> {
  const end = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    try {
      await ask(url, "SELECT 1");
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      check();
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** Whether a server is there that is as new as this: of version 17, for example. */
export async function isFrom(version: number, server: TestPostgres | undefined): Promise<boolean> {
  if (server === undefined) return false;
  const [row] = await ask<{ number: string }>(
    server.url,
    "SELECT current_setting('server_version_num') AS number",
  );
  return Number(row?.number) >= version * 10_000;
}

let schemas = 0;

/** The name of a schema that no other test uses. */
export function newSchema(): string {
  schemas += 1;
  return `test_${process.pid}_${schemas}_${Math.trunc(performance.now())}`;
}
