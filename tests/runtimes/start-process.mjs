import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { withRegistry } from "../../scripts/registry-trouble.mjs";

/** A runtime may take its time to be downloaded. */
const INSTALL_MS = 300_000;

/** How long a script may take, in ms. */
const SCRIPT_MS = 60_000;

/**
 * The path of a program from an npm package.
 *
 * @param {{ package: string, command: readonly [string, ...string[]] }} runtime
 */
export async function locate(runtime) {
  const find = `command -v ${runtime.command[0]}`;
  const args = ["-y", "-p", runtime.package, "-c", find];
  const { stdout, stderr, status } = await withRegistry(
    async () => spawnSync("npx", args, { encoding: "utf8", timeout: INSTALL_MS }),
    (ended) => (ended.status === 0 ? "" : ended.stderr),
  );
  if (status !== 0) throw new Error(`npx cannot provide ${runtime.package}: ${stderr.trim()}`);
  return stdout.trim();
}

/**
 * Runs a script to its end.
 *
 * @returns {Promise<string>} what it printed
 */
export async function runScript(program, args, script) {
  const child = start(program, args, script, {});
  const timer = setTimeout(() => end(child), SCRIPT_MS);
  let printed = "";
  let complained = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (complained += text));
  const [code] = await once(child, "close");
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${complained.trim().slice(-2_000)}`);
  return printed;
}

/**
 * Starts a server that prints its URL.
 *
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export async function startServer(program, args, script, env) {
  const child = start(program, args, script, env);
  const closed = once(child, "close");
  let complained = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (complained = (complained + text).slice(-2_000)));
  const lines = createInterface({ input: child.stdout });
  const timer = setTimeout(() => end(child), SCRIPT_MS);
  const [line] = await Promise.race([once(lines, "line"), closed.then(() => [undefined])]);
  clearTimeout(timer);
  if (line === undefined) throw new Error(`${script} did not start: ${complained.trim()}`);
  return {
    url: line,
    async close() {
      end(child);
      await closed;
    },
  };
}

/** In a process group of its own: some packages start the runtime behind a wrapper of theirs. */
function start(program, args, script, env) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return spawn(program, [...args, path], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    env: { ...process.env, ...env },
    stdio: "pipe",
    detached: true,
  });
}

function end(child) {
  child.stdin.end();
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
