import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { guardFolder } from "../../../core/test/support/guard.ts";
import { freePort } from "../../../../tests/support/free-port.ts";
import { asServerUser, serverFile, serverFolder } from "./postgres-programs.ts";
import { answers } from "./start-postgres.ts";

/** Why there is no pooler, for the title of what is skipped. */
export const NO_PGBOUNCER = "skipped: this machine has no pgbouncer";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/usr/local/bin"];

/**
 * Starts PgBouncer in transaction mode in front of a server: each transaction may get another connection. It ends with this
 * process, whatever ends that. Undefined where the system has none.
 */
export async function startPgbouncer(
  direct: string,
): Promise<{ readonly url: string; stop(): Promise<void> } | undefined> {
  const program = FOLDERS.map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path));
  if (program === undefined) return undefined;
  const [folder, port, to] = [serverFolder(), await freePort(), new URL(direct)];
  const guard = guardFolder(folder);
  const file = join(folder, "pgbouncer.ini");
  serverFile(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${to.port} dbname=postgres user=${to.username} password=${to.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
`,
  );
  const [command, ...args] = asServerUser(program, ["-q", file]);
  const child = spawn(command, args, { cwd: folder, stdio: "ignore", detached: true });
  child.unref();
  const url = Object.assign(new URL(direct), { port: String(port) }).href;
  await answers(url, () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start: it ended with ${child.exitCode}.`);
  });
  return { url, stop: () => guard.end() };
}
