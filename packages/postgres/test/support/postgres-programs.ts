import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const isRoot = process.getuid?.() === 0;

/**
 * The folder of the server's programs: the one that POSTGRES_BIN names, or that of the system, which Debian keeps off the PATH;
 * undefined where there is none.
 */
export function programs(): string | undefined {
  const given = process.env["POSTGRES_BIN"];
  if (given !== undefined) {
    if (!hasServer(given)) throw new Error(`POSTGRES_BIN is ${given}, which has no initdb and no postgres.`);
    return given;
  }
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(root, version, "bin")), "/usr/local/bin", "/usr/bin"];
  return folders.find(hasServer);
}

function hasServer(folder: string): boolean {
  return ["initdb", "postgres"].every((program) => existsSync(join(folder, program)));
}

/** Why a test is skipped that needs a program of the server; undefined where there is one. Some builds have only the server. */
export function lacks(program: string): string | undefined {
  const folder = programs();
  if (folder === undefined || existsSync(join(folder, program))) return undefined;
  return `skipped: ${folder} has no ${program}`;
}

/** The server refuses root: its programs then run as the user that Debian makes for it. */
export function asServerUser(program: string, args: readonly string[]): readonly [string, ...string[]] {
  if (!isRoot) return [program, ...args];
  return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program, ...args];
}

/** Runs one of its programs to its end. */
export function runProgram(program: string, args: readonly string[], folder: string): void {
  const [command, ...given] = asServerUser(program, args);
  const { status, stderr } = spawnSync(command, given, { cwd: folder });
  if (status !== 0) throw new Error(`${program} failed: ${String(stderr)}`);
}

/** An empty folder that the server's programs may write to. */
export function serverFolder(): string {
  const folder = mkdtempSync(join(serverTmpdir(), "countersign-postgres-"));
  giveToServer(folder);
  return folder;
}

/** The folder for temporary files; that of all users, where the one of root is closed to others. */
function serverTmpdir(): string {
  const [command, ...args] = asServerUser("test", ["-x", tmpdir()]);
  return spawnSync(command, args).status === 0 ? tmpdir() : "/tmp";
}

/** A file that the server's programs may read. */
export function serverFile(path: string, content: string): void {
  writeFileSync(path, content);
  giveToServer(path);
}

function giveToServer(path: string): void {
  const [user, group] = serverUser();
  if (isRoot) chownSync(path, user, group);
}

/** Ids of the user that the server runs as, and of its group. */
function serverUser(): readonly [number, number] {
  const who = isRoot ? ["postgres"] : [];
  const idOf = (flag: string): number => Number(spawnSync("id", [flag, ...who]).stdout.toString());
  return [idOf("-u"), idOf("-g")];
}

/**
 * The same command with a small disk of its own at a folder, which only it and its children see.
 *
 * @param megabytes Its size.
 */
export function withSmallDisk(
  folder: string,
  megabytes: number,
  command: readonly string[],
): readonly [string, ...string[]] {
  return inOwnMounts(`${mountAt("$0", megabytes)} && exec "$@"`, folder, command);
}

/**
 * The same command, a server, with its write-ahead log on a small disk of its own. It is started again whenever it ends, as
 * by a service manager.
 *
 * @param log The folder of the log. What is in it is copied to the disk.
 */
export function withSmallLogDisk(
  folder: string,
  megabytes: number,
  log: string,
  command: readonly string[],
): readonly [string, ...string[]] {
  const move = `${mountAt("$0", megabytes)} && cp -a "$1/." "$0/" && mount --bind "$0" "$1"`;
  return inOwnMounts(`${move} && shift && while :; do "$@"; sleep 0.2; done`, folder, [log, ...command]);
}

function mountAt(folder: string, megabytes: number): string {
  const [user, group] = serverUser();
  return `mount -t tmpfs -o size=${megabytes}m,mode=0700,uid=${user},gid=${group} tmpfs "${folder}"`;
}

function inOwnMounts(
  script: string,
  folder: string,
  command: readonly string[],
): readonly [string, ...string[]] {
  const own = isRoot ? [] : ["--user", "--map-current-user", "--keep-caps"];
  return ["unshare", ...own, "--mount", "sh", "-c", script, folder, ...command];
}
