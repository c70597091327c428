import { Argument, Command } from "commander";
import type { MessageType } from "@countersign/sender";
import { MESSAGE_TYPES } from "../send/message-types.ts";
import { fileArgument, repeatedArgument, urlArgument } from "./arguments.ts";
import { examples } from "./examples.ts";
import { noProxyOption, proxyOption } from "./proxy-options.ts";
import { caOption, concurrencyOption, headerOption, secretOption } from "./receiver-options.ts";
import type { SendFlags } from "./run-send.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../errors/usage-error.ts";

/** `countersign send` */
export function sendCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("send")
    .summary("send messages to a receiver, each once")
    .description(
      "Sends a sample message, or the messages of a file, to a receiver. Sends each once and prints the response. Exits 1 unless every response is 2xx.",
    )
    .addArgument(
      new Argument("[type]", "type of the message; optional if --file gives it").choices(MESSAGE_TYPES),
    )
    .requiredOption("--to <url>", "the receiver", urlArgument)
    .addOption(secretOption("sign with this shared secret"))
    .option(
      "--file <file>",
      "send the calls or messages of this file in place of the sample: one JSON object per line, or one JSON array; - reads standard input",
      fileArgument,
    )
    .option(
      "--set <path=value>",
      "set a field of each message, such as properties.plan=pro; repeatable",
      repeatedArgument,
    )
    .addOption(headerOption())
    .addOption(caOption())
    .addOption(proxyOption())
    .addOption(noProxyOption())
    .addOption(
      concurrencyOption(
        "with --file: how many messages may be in flight at once; more than 1 changes their order (default: 1)",
      ),
    )
    .option("--json", "print each delivery as JSON")
    .addHelpText("after", examples("send"))
    .action(async (type: MessageType | undefined, flags: SendFlags, command: Command) => {
      if (type === undefined && flags.file === undefined) {
        command.error("error: missing required argument 'type'");
      }
      if (flags.concurrency !== undefined && flags.file === undefined)
        throw new UsageError("--concurrency is for the messages of --file. Without it, one message is sent.");
      const { send } = await import("./run-send.ts");
      exit(await send(type, flags, terminal));
    });
}
