import { Command, Option } from "commander";
import { messageOf } from "@countersign/protocol";
import { durationText } from "@countersign/sender/explain";
import type { Heard } from "../listen/heard.ts";
import { fileArgument, hostArgument, portArgument, urlArgument } from "./arguments.ts";
import { examples } from "./examples.ts";
import { caOption, headerOption, reachOf, secretOption, type ReceiverFlags } from "./receiver-options.ts";
import { clockTime } from "../terminal/clock-time.ts";
import { stoppingText, untilToldToStop } from "../terminal/signals.ts";
import { withoutRepeats } from "../terminal/without-repeats.ts";
import { resultJson } from "../terminal/result-json.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";

interface ListenFlags extends ReceiverFlags {
  readonly port: number;
  readonly host: string;
  readonly secret?: string;
  readonly forward?: string;
  readonly record?: string;
  readonly body?: boolean;
  readonly json?: boolean;
}

/** Where `listen` listens, beside `serve`, which has 4010. */
const DEFAULT_PORT = 4011;
/** How long running requests may take when it is told to stop. */
const CLOSE_MS = 10_000;

/** `countersign listen` */
export function listenCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("listen")
    .summary("receive messages of the real service; verify, record and forward them")
    .description(
      "Receives webhooks of the real service on any path. Verifies and prints each, and records and forwards those whose signature is right. Answers 204, or with the receiver's answer to a forwarded message. A request with a wrong signature is answered 401, and the cause is printed.",
    )
    .addOption(
      new Option("--port <number>", "listen on this port; 0 means any free port")
        .argParser(portArgument)
        .default(DEFAULT_PORT),
    )
    .addOption(
      new Option("--host <address>", "listen on this address; 0.0.0.0 lets other machines connect")
        .env("COUNTERSIGN_HOST")
        .argParser(hostArgument)
        .default("127.0.0.1"),
    )
    .addOption(secretOption("verify signatures with this shared secret (default: do not verify)"))
    .option("--forward <url>", "pass each message on to this receiver, byte for byte", urlArgument)
    .addOption(headerOption())
    .addOption(caOption())
    .option("--record <file>", "append each message to a file, for countersign replay", fileArgument)
    .option("--body", "also print the body of each message")
    .option("--json", "print JSON lines")
    .addHelpText("after", examples("listen"))
    .action(async (flags: ListenFlags) => {
      exit(await run(flags, terminal));
    });
}

async function run(flags: ListenFlags, terminal: Terminal): Promise<number> {
  const { port, host, secret, forward, record, json = false } = flags;
  const reach = await reachOf(flags, terminal.cwd);
  const { listen } = await import("../listen/listen.ts");
  const stop = untilToldToStop();
  const complain = withoutRepeats((text) => terminal.complain(printable(text)));
  const listener = await listen({
    port,
    host,
    secret,
    forward,
    ...reach,
    record,
    onRequest: (heard) => {
      if (json) terminal.print(jsonOf(heard));
      else for (const line of lines(heard, flags, terminal)) terminal.print(line);
    },
    onError: (error) => complain(messageOf(error)),
  });
  announce(listener.url, flags, terminal);
  const signal = await stop;
  terminal.complain(stoppingText(signal, "waiting for running requests", CLOSE_MS));
  await listener.close(CLOSE_MS);
  return 0;
}

function announce(url: string, flags: ListenFlags, { print, colors }: Terminal): void {
  const { secret, forward, record, json } = flags;
  if (json) {
    print(jsonLine({ event: "listening", url, verifies: secret !== undefined, forward, record }));
    return;
  }
  print(`${colors.bold("countersign")} listens on ${url}/, on every path`);
  print(`Verifies    ${secret === undefined ? colors.yellow("nothing; pass --secret") : "every signature"}`);
  if (forward !== undefined) print(`Forwards    to ${printable(forward)}`);
  if (record !== undefined)
    print(
      `Records     in ${printable(record)}; countersign replay ${printable(record)} --to URL sends it again`,
    );
  print("Public      the service needs a public address that leads here, such as that of a tunnel\n");
}

function jsonOf({ body, message, forwarded, ...heard }: Heard): string {
  return jsonLine({
    event: "heard",
    ...heard,
    type: message?.type,
    messageId: message?.messageId,
    body: body && Buffer.from(body).toString("utf8"),
    forwarded: forwarded && resultJson(forwarded),
  });
}

function* lines(heard: Heard, { body: withBody }: ListenFlags, { colors }: Terminal): Generator<string> {
  const { verdict, status, problem, body } = heard;
  const time = colors.dim(clockTime(heard.at));
  const mark = { verified: colors.green, unsigned: colors.yellow, rejected: colors.red }[verdict](
    verdict.padEnd(8),
  );
  const what = problem === undefined ? describe(heard) : `${problem.code}: ${problem.text}`;
  yield `${time} ${mark} ${status} ${printable(what)}${forwardedText(heard)}`;
  if (withBody && body !== undefined) yield printable(Buffer.from(body).toString("utf8"));
}

function describe({ message, body }: Heard): string {
  const { type, event, userId, anonymousId, messageId } = (message ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const identity = [userId, anonymousId].find((id) => typeof id === "string" && id !== "");
  const parts = [
    String(type),
    typeof event === "string" ? JSON.stringify(event) : "",
    typeof identity === "string" ? `of ${identity}` : "",
    typeof messageId === "string" ? messageId : "",
    `${body?.length ?? 0} bytes`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function forwardedText({ forwarded }: Heard): string {
  if (forwarded === undefined) return "";
  const { status, code, message, outcome, durationMs } = forwarded;
  return `, forwarded: ${status ?? printable(code ?? message ?? outcome)} in ${durationText(durationMs)}`;
}
