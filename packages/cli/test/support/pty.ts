import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, vi } from "vitest";
import { bin } from "../../../../tests/support/command.ts";
import { cleanUp } from "../../../../tests/support/resources.ts";

/** `script` of util-linux opens a pseudo-terminal. The one of other systems has other options. */
export const hasPseudoTerminals: boolean =
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false;

/** `countersign` on a pseudo-terminal. */
export interface CommandOnTerminal {
  /** Everything it has printed, with `\n` as the end of each line. */
  readonly shown: () => string;
  /** Resolves to the match when it has printed something that matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Types something. `\u0003` is Ctrl-C. */
  type(text: string): void;
  readonly ended: Promise<number>;
  /** Ends it with its terminal. Idempotent. */
  stop(): void;
}

/** Runs `countersign` on a pseudo-terminal of so many columns. */
export function startOnTerminal(
  args: readonly string[],
  { columns, env, cwd }: { columns: number; env?: Readonly<Record<string, string>>; cwd?: string },
): CommandOnTerminal {
  const command = [process.execPath, bin, ...args].map(quoted).join(" ");
  const child = spawn("script", ["-qefc", `stty cols ${columns} rows 50; exec ${command}`, "/dev/null"], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  // Its terminal goes with it, which ends the command.
  const stop = (): void => void child.kill("SIGKILL");
  cleanUp(stop);
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stdin.on("error", () => {});
  const shown = (): string => output.replaceAll(/\r+\n/g, "\n");
  return {
    shown,
    stop,
    type: (text) => void child.stdin.write(text),
    ended: once(child, "close").then(([code]) => code as number),
    async printed(pattern) {
      await vi.waitFor(() => expect(shown()).toMatch(pattern), { interval: 20 });
      const match = pattern.exec(shown());
      if (!match) throw new Error("unreachable");
      return match;
    },
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// oxlint-disable-next-line no-control-regex -- this is what they are
const COLOURS = /\u001B\[[\d;]*m/g;

/** A text without its colours. */
export function withoutColours(text: string): string {
  return text.replaceAll(COLOURS, "");
}
