import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const isRoot = process.getuid?.() === 0;

/** The folder of the server's programs, which Debian keeps off the PATH; undefined where there is none. */
export function programs(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(root, version, "bin")), "/usr/local/bin", "/usr/bin"];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
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
  const folder = mkdtempSync(join(tmpdir(), "countersign-postgres-"));
  giveToServer(folder);
  return folder;
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
  const own = isRoot ? [] : ["--user", "--map-current-user", "--keep-caps"];
  const [user, group] = serverUser();
  const options = `size=${megabytes}m,mode=0700,uid=${user},gid=${group}`;
  const mount = `mount -t tmpfs -o ${options} tmpfs "$0" && exec "$@"`;
  return ["unshare", ...own, "--mount", "sh", "-c", mount, folder, ...command];
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
