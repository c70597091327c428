import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { expect, vi } from "vitest";
import { bin } from "../../../../tests/support/command.ts";
import { cleanUp } from "../../../../tests/support/resources.ts";

/** The built `countersign` in a process of its own, and what it has printed. */
export interface RunningCommand {
  readonly process: ChildProcessWithoutNullStreams;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when it has ended, with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Resolves when it has printed something that matches; rejects when it has ended and has not. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface CommandOptions {
  readonly cwd?: string | undefined;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How many files it may have open. Needs a POSIX system. */
  readonly openFiles?: number;
}

export function startCommand(
  args: readonly string[],
  { cwd, stdin, env, openFiles }: CommandOptions = {},
): RunningCommand {
  const command = [process.execPath, bin, ...args];
  const limited = ["sh", "-c", `ulimit -n ${openFiles} && exec "$0" "$@"`, ...command];
  const [program = "", ...rest] = openFiles === undefined ? command : limited;
  const child = spawn(program, rest, {
    cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  cleanUp(() => child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  const ended = once(child, "close").then(([code, signal]): number | NodeJS.Signals => code ?? signal);
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    async printed(pattern) {
      const output = (): string => stdout + stderr;
      const comes = vi.waitFor(() => expect(output()).toMatch(pattern), { interval: 10 });
      // What has not come by its end never will.
      await Promise.race([comes, ended]);
      const match = pattern.exec(output());
      if (match) return match;
      throw new Error(`It ended with ${await ended}, and did not print ${String(pattern)}:\n${output()}`);
    },
  };
}

export interface EndedCommand {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `countersign` to its end. */
export async function runCommand(args: readonly string[], options?: CommandOptions): Promise<EndedCommand> {
  const command = startCommand(args, options);
  const code = await command.ended;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

/** Starts `countersign serve` on a port that is free, and waits until it listens. */
export async function startServe(
  args: readonly string[],
  options?: CommandOptions,
): Promise<RunningCommand & { readonly url: string }> {
  const command = startCommand(["serve", "--port", "0", ...args], options);
  const [, url = ""] = await command.printed(/(?:listens on |"url":")(http:[^\s"]+)/);
  return { ...command, url };
}
