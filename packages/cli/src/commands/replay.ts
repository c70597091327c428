import { Command, Option } from "commander";
import { answerText } from "@countersign/sender/explain";
import type { ReplayedRequest, ReplayReport } from "../replay/replay.ts";
import { secretArgument, urlArgument } from "./arguments.ts";
import { noProxyOption, proxyOf, proxyOption, type ProxyFlags } from "./proxy-options.ts";
import {
  caOption,
  concurrencyOption,
  headerOption,
  reachOf,
  type ReceiverFlags,
} from "./receiver-options.ts";
import { examples } from "./examples.ts";
import { createProgress } from "../terminal/progress.ts";
import { resultJson } from "../terminal/result-json.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../errors/usage-error.ts";

interface ReplayFlags extends ReceiverFlags, ProxyFlags {
  readonly to: string;
  readonly secret?: string;
  readonly keepHeaders?: boolean;
  readonly json?: boolean;
}

/** `countersign replay` */
export function replayCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("replay")
    .summary("send a recording again, byte for byte")
    .description(
      "Sends a recording of countersign serve --record or countersign listen --record again, byte for byte, in order, each message once. Exits 1 unless every line was sent and answered 2xx.",
    )
    .argument("<file>", "the recording, JSON lines")
    .requiredOption("--to <url>", "the receiver", urlArgument)
    .addOption(
      new Option(
        "--secret <secret>",
        "sign again with this secret (default: send the recorded signature)",
      ).argParser(secretArgument),
    )
    .addOption(headerOption())
    .addOption(caOption())
    .addOption(proxyOption())
    .addOption(noProxyOption())
    .addOption(
      concurrencyOption(
        "how many messages may be in flight at once; more than 1 changes their order (default: 1)",
      ),
    )
    .option("--keep-headers", "also send recorded static headers, such as Authorization, to another receiver")
    .option("--json", "print a JSON line for each message")
    .addHelpText("after", examples("replay"))
    .action(async (file: string, flags: ReplayFlags) => {
      exit(await run(file, flags, terminal));
    });
}

async function run(file: string, flags: ReplayFlags, terminal: Terminal): Promise<number> {
  const { to, secret, keepHeaders, concurrency, json = false } = flags;
  const reach = { ...(await reachOf(flags, terminal.cwd)), ...(await proxyOf(flags)) };
  const { replay } = await import("../replay/replay.ts");
  const progress = await createProgress(terminal, json ? undefined : "Replaying", 100);
  const onResult = (replayed: ReplayedRequest): void => {
    progress.update(Math.floor(replayed.progress * 100));
    if (json) terminal.print(resultLine(replayed));
    else if (replayed.result.outcome !== "success") progress.print(failureLine(replayed, to));
  };
  const onUnreadable = ({ message }: Error): void => terminal.complain(`Left out: ${printable(message)}`);
  try {
    const report = await replay({
      file,
      to,
      secret,
      keepHeaders,
      ...reach,
      concurrency,
      onResult,
      onUnreadable,
    });
    progress.stop();
    if (report.sent === 0 && report.unreadable === 0)
      throw new UsageError(`${file} has no messages. Record some with countersign serve --record ${file}`);
    summarise(report, flags, terminal);
    return report.failed === 0 && report.unreadable === 0 && report.sent > 0 ? 0 : 1;
  } finally {
    progress.stop();
  }
}

function summarise(
  { sent, succeeded, failed, unreadable, withheld }: ReplayReport,
  { to, json = false }: ReplayFlags,
  terminal: Terminal,
): void {
  const leftOut = unreadable === 0 ? "" : ` ${unreadable} ${unreadable === 1 ? "line" : "lines"} left out.`;
  if (json) terminal.print(jsonLine({ sent, succeeded, failed, unreadable }));
  else terminal.print(`${sent} sent, ${succeeded} answered 2xx, ${failed} not.${leftOut}`);
  if (withheld.length > 0) {
    terminal.complain(
      `Not sent: ${printable(withheld.join(", "))}, recorded for another receiver. Give --keep-headers to send ${withheld.length === 1 ? "it" : "them"} to ${to}.`,
    );
  }
}

function resultLine({ line, result }: ReplayedRequest): string {
  return jsonLine({ line, ...resultJson(result) });
}

function failureLine({ line, result }: ReplayedRequest, endpoint: string): string {
  return `line ${line}: ${result.outcome}: ${answerText({ ...result, endpoint })}`;
}
