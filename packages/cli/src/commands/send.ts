import { Argument, Command, Option } from "commander";
import type { Attempt, MessageType } from "@countersign/sender";
import { MESSAGE_TYPES, sampleCall, setField } from "../send/sample-call.ts";
import { repeatedArgument, secretArgument, urlArgument } from "./arguments.ts";
import { examples } from "./examples.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../errors/usage-error.ts";

interface SendFlags {
  readonly to: string;
  readonly secret?: string;
  readonly set: readonly string[];
  readonly json?: boolean;
}

/** `countersign send` */
export function sendCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("send")
    .summary("send one message to a receiver")
    .description(
      "Sends one message to a receiver once and prints the response. Exits 1 unless the response is 2xx.",
    )
    .addArgument(new Argument("<type>", "type of the message").choices(MESSAGE_TYPES))
    .requiredOption("--to <url>", "the receiver", urlArgument)
    .addOption(
      new Option("--secret <secret>", "sign with this shared secret")
        .env("COUNTERSIGN_SECRET")
        .argParser(secretArgument),
    )
    .option(
      "--set <path=value>",
      "set a field of the sample message, such as properties.plan=pro; repeatable",
      repeatedArgument,
      [],
    )
    .option("--json", "print the delivery as JSON")
    .addHelpText("after", examples("send"))
    .action(async (type: MessageType, flags: SendFlags) => {
      exit(await send(type, flags, terminal));
    });
}

async function send(
  type: MessageType,
  { to, secret, set, json }: SendFlags,
  terminal: Terminal,
): Promise<number> {
  const call = sampleCall(type);
  for (const assignment of set) setField(type, call, assignment);
  const { sendMessage } = await import("../send/send-message.ts");
  const { attempt, delivery, ok } = await sendMessage({ type, call, to, secret }).catch((error: unknown) => {
    if (!(error instanceof Error) || error.name !== "CallError") throw error;
    throw new UsageError(`${error.message} Correct it with --set, for example --set userId=u1`);
  });
  if (json) {
    terminal.print(jsonLine({ ok, ...attempt, messageId: delivery.messageId, body: text(delivery.body) }));
    return ok ? 0 : 1;
  }
  const { colors } = terminal;
  const mark = ok ? colors.green("delivered") : colors.red("not delivered");
  terminal.print(`${mark}: ${type} to ${to}: ${answer(attempt)} in ${Math.round(attempt.durationMs)} ms`);
  if (ok) return 0;
  if (attempt.response !== "") terminal.print(printable(attempt.response).slice(0, 1_000));
  terminal.complain(`countersign: ${advice(attempt, to)}`);
  return 1;
}

function answer({ status, code, message, outcome }: Attempt): string {
  return status === undefined ? printable(message ?? code ?? outcome) : String(status);
}

/** What to do next, by what happened. */
function advice({ outcome, status, code }: Attempt, to: string): string {
  if (outcome === "timeout")
    return `${to} did not answer within 5 s. Answer first, and do slow work afterwards.`;
  if (outcome === "tls")
    return `The certificate of ${to} is not trusted, so nothing was sent. Use a certificate that is valid for this name.`;
  if (outcome === "network")
    return `${to} could not be reached (${code ?? "network error"}). Start the receiver, or correct --to.`;
  if (status === 401 || status === 403)
    return `The receiver did not accept the signature. Pass its secret with --secret.`;
  if (status === 404 || status === 405)
    return `No webhook receiver answers at this path. Correct the path in --to.`;
  if (outcome === "rejected")
    return `The receiver rejected the message. Its response says why; the sender would not retry.`;
  return `The receiver failed. Its log says why; a server would retry this for four hours.`;
}

function text(body: Uint8Array): string {
  return Buffer.from(body).toString("utf8");
}
