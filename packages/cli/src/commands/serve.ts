import { FAULTS } from "@countersign/sender/explain";
import { Command, Option } from "commander";
import {
  bytesArgument,
  countArgument,
  dataArgument,
  durationArgument,
  fileArgument,
  hostArgument,
  portArgument,
  repeatedArgument,
  secondsArgument,
  tokenArgument,
  urlsArgument,
  writeKeyArgument,
} from "./arguments.ts";
import { examples } from "./examples.ts";
import { storeOption } from "./shared-store.ts";
import { noProxyOption, proxyOption } from "./proxy-options.ts";
import { caOption, concurrencyOption, headerOption, secretOption } from "./receiver-options.ts";
import type { ServeFlags } from "./serve-settings.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** `countersign serve` */
export function serveCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("serve")
    .summary("run the server that client libraries send to, and forward their calls")
    .description(
      "Runs the server that client libraries send to, and forwards their calls as signed webhooks.\nSettings come from countersign.config.{ts,mts,js,mjs,json}, found in this project, and from these options, which take precedence.",
    )
    .option(
      "--to <url>",
      "forward to this URL; repeatable, up to five; one of them must accept each message",
      urlsArgument,
    )
    .addOption(secretOption("sign with this shared secret"))
    .addOption(headerOption())
    .addOption(caOption())
    .addOption(concurrencyOption("how many messages may be in flight at once (default: 20)"))
    .option("--write-key <key>", "accept only this write key (default: any)", writeKeyArgument)
    .option("--config <file>", "read this config file, instead of searching for one", fileArgument)
    .addOption(
      new Option(
        "--host <address>",
        "listen on this address (default: 127.0.0.1); an address that other machines can reach needs --token",
      )
        .env("COUNTERSIGN_HOST")
        .argParser(hostArgument),
    )
    .option("--port <number>", "listen on this port (default: 4010)", portArgument)
    .option("--tls-cert <file>", "use TLS with this certificate, in PEM", fileArgument)
    .option(
      "--tls-key <file>",
      "the private key of the certificate, in PEM without a passphrase",
      fileArgument,
    )
    .option(
      "--tls-self-signed",
      "use TLS with a certificate made for this machine, and print the file to trust",
    )
    .addOption(
      new Option("--token <token>", "require this token everywhere except under /v1 and for health checks")
        .env("COUNTERSIGN_TOKEN")
        .argParser(tokenArgument),
    )
    .option("--allow-host <name>", "also accept this host name outside /v1; repeatable", repeatedArgument)
    .addOption(
      new Option(
        "--data <dir>",
        "keep everything in this directory, so that it survives a restart (default: in memory)",
      )
        .env("COUNTERSIGN_DATA")
        .argParser(dataArgument),
    )
    .addOption(storeOption("keep deliveries in this PostgreSQL database, which other processes may share"))
    .option("--no-deliver", "only accept; processes of countersign work on the same --store deliver")
    .option(
      "--max-bytes <size>",
      "maximum size of all deliveries, such as 500MB; ended ones are removed first, then calls get 503 (default: 8 GiB with --data, 256 MiB in memory)",
      bytesArgument,
    )
    .option("--keep-for <time>", "how long ended deliveries are kept (default: 7d)", durationArgument)
    .option("--record <file>", "append each sent message to a file, for countersign replay", fileArgument)
    .option("--virtual-clock", "stop the clock; POST /api/clock advances it")
    .option("--block-private-networks", "refuse to forward to private networks and this machine")
    .addOption(proxyOption())
    .addOption(noProxyOption())
    .option("--max-connections <number>", "maximum number of open connections (default: 1000)", countArgument)
    .addOption(
      new Option("--drain <seconds>", "how long requests and attempts may take to finish after SIGTERM")
        .argParser(secondsArgument)
        .default(10_000, "10"),
    )
    .addOption(new Option("--only <what>", "print lines only for failures").choices(["failed"]))
    .addOption(
      new Option(
        "--quiet",
        "print only the address, accepted forgeries, and the totals at the end",
      ).conflicts(["only", "json"]),
    )
    .option("--json", "print JSON lines, in the shape of the events of the control API")
    .addHelpText("after", faultsText())
    .addHelpText("after", examples("serve"))
    .action(async (flags: ServeFlags, command: Command) => {
      const secretFromEnvironment = command.getOptionValueSource("secret") === "env";
      const dataFromEnvironment = command.getOptionValueSource("data") === "env";
      const given = { ...flags, secretFromEnvironment, dataFromEnvironment };
      const { serveSettings } = await import("./serve-settings.ts");
      const settings = await serveSettings(given, terminal);
      // Loaded only now, so that help, the other commands and what is wrong with the settings do not wait for a web server.
      const { serve } = await import("./run-server.ts");
      exit(await serve(given, settings, terminal));
    });
}

/** The faults that can be injected while it runs: the sender's own list. */
function faultsText(): string {
  return `\nFaults, to inject with POST /api/faults, or with f on a terminal:\n${FAULTS.map((fault) => `  ${fault}`).join("\n")}`;
}
