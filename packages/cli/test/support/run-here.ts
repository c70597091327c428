import { Readable, Writable } from "node:stream";
import { vi } from "vitest";
import { run } from "../../dist/run.js";
import { terminalOf } from "../../dist/terminal/terminal.js";
import { cleanUp, temporaryDirectory } from "../../../../tests/support/resources.ts";
import type { CommandOptions, EndedCommand } from "./command.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"] as const;

/**
 * Runs `countersign` to its end in this process: for what it says and how it ends, of which the start of a process is no part and
 * takes nearly all of the time. What a process does, such as to heed signals, needs `runCommand()`.
 */
export async function runHere(
  args: readonly string[],
  { cwd = temporaryDirectory(), env = {}, stdin = "" }: Omit<CommandOptions, "openFiles"> = {},
): Promise<EndedCommand> {
  const [stdout, stderr] = [new Output(), new Output()];
  const host = { stdin: Readable.from([Buffer.from(stdin)]), stdout, stderr, env, cwd: () => cwd };
  const others = SIGNALS.map((name) => new Set(process.listeners(name)));
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  // A process of its own would have ended.
  const restore = (): void => {
    vi.unstubAllEnvs();
    for (const [index, name] of SIGNALS.entries())
      for (const heeds of process.listeners(name)) if (!others[index]?.has(heeds)) process.off(name, heeds);
  };
  // Also where it does not end, and the time of the test does.
  cleanUp(restore);
  const code = await run(args, terminalOf(host as unknown as NodeJS.Process));
  restore();
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Output extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, written: () => void): void {
    this.text += chunk.toString();
    written();
  }
}
