import { type Command, CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { printable, printableLines, type Terminal } from "./terminal/terminal.ts";

/**
 * Errors that the caller can do something about, and whose message says what. By name, so that asking for help does not
 * load the server and the engine.
 */
const USAGE_ERRORS: ReadonlySet<string> = new Set([
  "UsageError",
  "ConfigError",
  "RecordingError",
  "SetError",
  "ServerError",
  "ServerOptionsError",
  "SettingsError",
  "StoreError",
  "CallError",
  "WebAssemblyError",
]);

const NOT_NODE =
  "This command runs on Node only, and another runtime has started it. Run it with npx, or with node; with Bun, leave out --bun.";

/** As `engines` of the manifest has it: npm only warns of an older one, and then a module misses what it imports. */
const OLD_NODE = /^(?:1?\d\.\d+|20\.(?:\d|1[0-8])|21\.\d+|22\.(?:\d|1[01]))\./;

/**
 * Runs the command line.
 *
 * @param args The arguments after `countersign`.
 * @returns The exit code: 0 good, 1 the check failed, 2 wrong usage or nothing could be started.
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const exit = (status: number): void => {
    code = status;
  };
  try {
    const program = createProgram(terminal, exit);
    await program.parseAsync(withoutHelp(args, program), { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed its own errors; help and version are good ends.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Error && USAGE_ERRORS.has(error.name)) {
      terminal.complain(printable(oneLine(error.message)));
      return 2;
    }
    if (error instanceof Error && error.name === "RuntimeError") {
      terminal.complain(NOT_NODE);
      return 2;
    }
    if (OLD_NODE.test(process.versions.node)) {
      terminal.complain(
        `This is Node ${process.versions.node}, and the command needs 20.19, 22.12 or later. Install a newer one.`,
      );
      return 2;
    }
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    terminal.complain(`This should not happen, please report it: ${printableLines(stack)}`);
    return 1;
  }
}

/** Help about a command that does not exist: commander would print that of the program, and say of nothing that it is wrong. */
function withoutHelp(args: readonly string[], { commands }: Command): readonly string[] {
  const [help, name] = args;
  if (help !== "help" || name === undefined || name.startsWith("-")) return args;
  return commands.some((one) => one.name() === name) ? args : args.slice(1);
}

function oneLine(message: string): string {
  return message
    .split("\n")
    .map((line) => line.replace(/^- /, "").trim())
    .join(" ");
}
