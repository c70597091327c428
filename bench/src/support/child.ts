import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A process of its own that does part of the work. */
export interface Child {
  /** The first message it sent: usually where it listens. */
  readonly ready: unknown;
  /** Sends it a message; resolves to its next one. */
  ask(message: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** How a script is run. */
interface HowToRun {
  /** Options of Node. */
  readonly nodeOptions?: readonly string[];
  /** A command and its arguments, after which the one that runs the script stands. */
  readonly through?: readonly string[];
}

/**
 * Starts a script of `src/children`, and waits for its first message.
 *
 * @param name - The script's name, without its ending.
 * @throws Error when it ends before it has answered
 */
export async function startChild(
  name: string,
  args: readonly string[] = [],
  { nodeOptions = [], through = [] }: HowToRun = {},
): Promise<Child> {
  const script = fileURLToPath(new URL(`../children/${name}.js`, import.meta.url));
  const [execPath = process.execPath, ...execArgv] = [...through, process.execPath, ...nodeOptions];
  const child = fork(script, args, { execPath, execArgv, serialization: "advanced" });
  const ready = await nextMessage(child, name);
  return {
    ready,
    async ask(message) {
      const answer = nextMessage(child, name);
      child.send(message as object);
      return answer;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      // A command that the script runs through may pass on no signal.
      if (child.connected) child.disconnect();
      child.kill();
      await exited;
    },
  };
}

function nextMessage(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      child.off("exit", onExit);
      resolve(message);
    };
    const onExit = (code: number | null): void => {
      child.off("message", onMessage);
      reject(new Error(`The process ${name} ended with ${code} before it answered.`));
    };
    child.once("message", onMessage).once("exit", onExit);
  });
}

/** Runs `action` with children, and stops all of them afterwards. */
export async function withChildren<T>(
  starting: readonly Promise<Child>[],
  action: (...children: Child[]) => Promise<T>,
): Promise<T> {
  const started = await Promise.allSettled(starting);
  const children = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  try {
    return await action(...(await Promise.all(starting)));
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}
