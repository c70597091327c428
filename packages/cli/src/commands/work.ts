import { Command, Option } from "commander";
import {
  durationArgument,
  hostArgument,
  portArgument,
  repeatedArgument,
  secondsArgument,
  tokenArgument,
} from "./arguments.ts";
import { examples } from "./examples.ts";
import type { WorkFlags } from "./run-worker.ts";
import { noProxyOption, proxyOption } from "./proxy-options.ts";
import { storeOption } from "./shared-store.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** `countersign work` */
export function workCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("work")
    .summary("deliver the calls that servers on the same store accept")
    .description(
      "Delivers the calls that the servers on a store accept. It listens on no port, unless you give one. Run it on as many machines as you like: they divide the concurrency of each destination among them. It follows the settings in the store.",
    )
    .addOption(storeOption("the PostgreSQL database that the servers use").makeOptionMandatory())
    .option(
      "--keep-for <time>",
      "how long ended deliveries are kept (default: 7d); give every process on the store the same",
      durationArgument,
    )
    .option("--block-private-networks", "refuse to forward to private networks and this machine")
    .addOption(proxyOption())
    .addOption(noProxyOption())
    .addOption(
      new Option("--drain <seconds>", "how long attempts may take to finish after SIGTERM")
        .argParser(secondsArgument)
        .default(10_000, "10"),
    )
    .option(
      "--port <number>",
      "answer /healthz, /readyz and /metrics on this port, in plain HTTP, for supervisors and Prometheus",
      portArgument,
    )
    .option(
      "--host <address>",
      "with --port: listen on this address (default: 127.0.0.1); an address that other machines can reach needs --token",
      hostArgument,
    )
    .addOption(
      new Option(
        "--token <token>",
        "with --port: require this token for /metrics, and for details of /readyz",
      )
        .env("COUNTERSIGN_TOKEN")
        .argParser(tokenArgument),
    )
    .option(
      "--allow-host <name>",
      "with --port: also accept this host name, such as that of a service; repeatable",
      repeatedArgument,
    )
    .option("--json", "print JSON lines")
    .addHelpText("after", examples("work"))
    .action(async (flags: WorkFlags, command: Command) => {
      // Loaded only now, so that help and the other commands do not wait for the driver.
      const { work } = await import("./run-worker.ts");
      const tokenFromEnvironment = command.getOptionValueSource("token") === "env";
      exit(await work({ ...flags, tokenFromEnvironment }, terminal));
    });
}
