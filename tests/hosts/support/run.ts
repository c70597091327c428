import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { withRegistry } from "../../../scripts/registry-trouble.mjs";

/** Where and how a command runs. */
export interface RunOptions {
  readonly folder: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** A process that listens on a port. */
export interface Running {
  /** What it has printed. */
  readonly printed: () => string;
  stop(): Promise<void>;
}

/** What npm and pnpm may inherit: where they find the registry and how they get there. */
const KEPT_CONFIG = /^npm_config_(?:registry|userconfig|cafile|noproxy|(?:https?-)?proxy)$/i;
const DROPPED =
  /^(?:npm_|pnpm_|VITE|TEST$|NODE_ENV$|NODE_OPTIONS$|NODE_PATH$|INIT_CWD$|PROD$|DEV$|MODE$|BASE_URL$|SSR$)/i;

/** The environment of a user's shell: without what the test runner and its package manager have put there. */
export function cleanEnvironment(work: string, added: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => KEPT_CONFIG.test(name) || !DROPPED.test(name));
  return {
    ...Object.fromEntries(kept),
    NO_COLOR: "1",
    npm_config_cache: join(work, "npm-cache"),
    npm_config_prefer_offline: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    NEXT_TELEMETRY_DISABLED: "1",
    ...added,
  };
}

/** Lines that ask the registry. */
const INSTALLS = /^(?:p?npm (?:add|i|install)\b|npx -y )/;

/**
 * Runs a command line to its end. What installs something is run again if the registry did not answer.
 *
 * @returns what it printed
 * @throws Error with what it printed, if it ends with another status than 0.
 */
export async function run(line: string, options: RunOptions): Promise<string> {
  const { status, printed } = await withRegistry(
    () => runToStatus(line, options),
    (ended) => (ended.status === 0 || !INSTALLS.test(line) ? "" : ended.printed),
  );
  if (status !== 0) throw new Error(`${line}\nended with ${status} in ${options.folder}:\n${printed}`);
  return printed;
}

/** Runs a command line to its end, whatever its status is. */
export async function runToStatus(
  line: string,
  options: RunOptions,
): Promise<{ readonly status: number | null; readonly printed: string }> {
  const child = start(line, options);
  const [status] = (await once(child, "close")) as [number | null];
  return { status, printed: child.printed() };
}

/** Starts a command line that listens on a port, and waits until it does. */
export async function startServer(line: string, port: number, options: RunOptions): Promise<Running> {
  const child = start(line, options);
  const closed = once(child, "close");
  const stop = async (): Promise<void> => {
    end(child);
    await closed;
  };
  const deadline = Date.now() + 120_000;
  while (!(await listens(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`${line}\ndoes not listen on port ${port}:\n${child.printed()}`);
    }
    await wait(50);
  }
  return { printed: child.printed, stop };
}

function start(line: string, { folder, environment }: RunOptions): ChildProcess & { printed: () => string } {
  // In a group of its own, so that what it starts ends with it.
  const child = spawn(line, { cwd: folder, env: environment, shell: true, stdio: "pipe", detached: true });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (printed = (printed + text).slice(-20_000)));
  }
  child.stdin.end();
  return Object.assign(child, { printed: () => printed });
}

function end(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** Whether something listens on the port, on IPv4 or IPv6: "localhost" may be either. */
async function listens(port: number): Promise<boolean> {
  const tried = ["127.0.0.1", "::1"].map(async (host) => {
    const socket = connect(port, host);
    const connected = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    return connected;
  });
  return (await Promise.all(tried)).includes(true);
}
