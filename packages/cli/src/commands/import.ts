import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { ImportReport } from "../import/import-calls.ts";
import { writeKeyArgument, serverArgument } from "./arguments.ts";
import { examples } from "./examples.ts";
import { concurrencyOption, headerOption, reachOf, type ReceiverFlags } from "./receiver-options.ts";
import { createProgress } from "../terminal/progress.ts";
import { stoppingText, untilToldToEndEarly } from "../terminal/signals.ts";
import { withoutRepeats } from "../terminal/without-repeats.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";

interface ImportFlags extends ReceiverFlags {
  readonly server: string;
  readonly writeKey: string;
  readonly restart?: boolean;
  readonly json?: boolean;
}

/** `countersign import` */
export function importCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("import")
    .summary("import past calls into a server; continues where it was interrupted")
    .description(
      "Sends the calls of a file to a server, which forwards them with their own times. The file has one JSON object on each line, with a type and a timestamp. Every line is checked before the first one is sent. FILE.progress stores the position of the import: the next run continues there. Exits 1 unless every call was accepted.",
    )
    .argument("<file>", "the calls, JSON lines")
    .addOption(
      new Option("--server <url>", "the server that accepts the calls, such as that of countersign serve")
        .argParser(serverArgument)
        .default("http://127.0.0.1:4010"),
    )
    .addOption(
      new Option("--write-key <key>", "the write key of the source")
        .env("COUNTERSIGN_WRITE_KEY")
        .argParser(writeKeyArgument)
        .default("any"),
    )
    .option("--restart", "start at the first line, even if an earlier run has stored a position")
    .addOption(headerOption())
    .addOption(concurrencyOption("how many requests may be in flight at once (default: 4)"))
    .option("--json", "print a JSON line for each rejected call, and the report as the last line")
    .addHelpText("after", examples("import"))
    .action(async (file: string, flags: ImportFlags) => {
      exit(await run(file, flags, terminal));
    });
}

async function run(file: string, flags: ImportFlags, terminal: Terminal): Promise<number> {
  const { server, writeKey, restart, concurrency, json = false } = flags;
  const { headers } = await reachOf(flags, terminal.cwd);
  const { CLOSE_MS, importFile } = await import("../import/import-calls.ts");
  const abort = new AbortController();
  let isOver = false;
  void untilToldToEndEarly().then((signal) => {
    // Then it only waits for the reader of its lines.
    if (isOver) return;
    terminal.complain(stoppingText(signal, "sending the calls that were read", CLOSE_MS));
    abort.abort();
  });
  const progress = await createProgress(terminal, json ? undefined : "Importing", 100);
  // Where there is a bar, only the bar can make room for a line.
  const hasBar = terminal.draws && !json;
  const tell = withoutRepeats((text) =>
    hasBar ? progress.print(`countersign: ${text}`) : terminal.complain(text),
  );
  try {
    const report = await importFile({
      file: resolve(terminal.cwd, file),
      server,
      writeKey,
      headers,
      restart,
      concurrency,
      signal: abort.signal,
      onProgress: (share) => progress.update(Math.floor(share * 100)),
      onRetry: (problem) => tell(`${printable(problem)} The calls are tried again for up to an hour.`),
      onRejected: (line, { reason, statusCode, detail }) => {
        if (json) terminal.print(jsonLine({ line, reason, statusCode, detail }));
        else progress.print(`line ${line}: rejected: ${printable(detail)}`);
      },
    });
    progress.stop();
    if (json) terminal.print(jsonLine(report));
    else summarise(report, file, flags, terminal);
    return report.done && report.rejected === 0 ? 0 : 1;
  } finally {
    isOver = true;
    progress.stop();
  }
}

function summarise(
  { delivered, rejected, resumedAfter, line, done, stopped }: ImportReport,
  file: string,
  { restart = false }: ImportFlags,
  { print, complain }: Terminal,
): void {
  if (done && resumedAfter === line && resumedAfter > 0)
    print(`${file} is imported up to its end, line ${line}. Pass --restart to import it again.`);
  else if (resumedAfter > 0) print(`Continued after line ${resumedAfter}.`);
  print(`${delivered} accepted, ${rejected} rejected, up to line ${line}.`);
  if (done) return;
  const again = restart ? "Run the command again without --restart" : "Run the same command again";
  complain(
    `The import is not complete. ${printable(stopped ?? "")} ${again}: it continues after line ${line}.`,
  );
}
