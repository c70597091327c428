import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import { bin } from "../../support/command.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** A process, and everything it has printed. */
export interface Child {
  readonly name: string;
  readonly process: ChildProcess;
  output: string;
  /** Resolves with its exit code when it has ended. */
  readonly ended: Promise<unknown>;
}

/** What a child is started with. It inherits nothing but PATH and HOME. */
export interface ChildOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

function start(name: string, args: readonly string[], { cwd, env, input }: ChildOptions): Child {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [...args], { cwd, env: { PATH, HOME, ...env } });
  const started: Child = {
    name,
    process: child,
    output: "",
    ended: once(child, "close").then(([code]) => code),
  };
  const keep = (data: Buffer): void => void (started.output += data.toString());
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.stdin.on("error", () => {}).end(input);
  return started;
}

/** Starts one of the scripts in this folder. */
export function startScript(script: string, options: ChildOptions): Child {
  return start(script, [here + script], options);
}

/** Starts the built `countersign` command. */
export function startCommand(args: readonly string[], options: ChildOptions): Child {
  return start(`countersign ${args.join(" ")}`, [bin, ...args], options);
}

/** Waits until a child has printed something, and returns the first group of it. */
export async function printed(child: Child, pattern: RegExp): Promise<string> {
  await vi.waitFor(() => expect(child.output).toMatch(pattern), { interval: 20 });
  return pattern.exec(child.output)?.[1] ?? "";
}
