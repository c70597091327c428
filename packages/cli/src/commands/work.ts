import { Command, Option } from "commander";
import { durationArgument, secondsArgument } from "./arguments.ts";
import { examples } from "./examples.ts";
import type { WorkFlags } from "./run-worker.ts";
import { storeOption } from "./shared-store.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** `countersign work` */
export function workCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("work")
    .summary("deliver the calls that servers on the same store accept")
    .description(
      "Delivers the calls that the servers on a store accept, and listens on no port. Run it on as many machines as you like: they divide the concurrency of each destination among them. It follows the settings in the store.",
    )
    .addOption(storeOption("the PostgreSQL database that the servers use").makeOptionMandatory())
    .option(
      "--keep-for <time>",
      "how long ended deliveries are kept (default: 7d); give every process on the store the same",
      durationArgument,
    )
    .option("--block-private-networks", "refuse to forward to private networks and this machine")
    .addOption(
      new Option("--drain <seconds>", "how long attempts may take to finish after SIGTERM")
        .argParser(secondsArgument)
        .default(10_000, "10"),
    )
    .option("--json", "print JSON lines")
    .addHelpText("after", examples("work"))
    .action(async (flags: WorkFlags) => {
      // Loaded only now, so that help and the other commands do not wait for the driver.
      const { work } = await import("./run-worker.ts");
      exit(await work(flags, terminal));
    });
}
