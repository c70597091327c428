import { Command } from "commander";
import { examples } from "./examples.ts";
import type { MoveFlags } from "./run-move.ts";
import { storeOption } from "./shared-store.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** `countersign move` */
export function moveCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("move")
    .summary("move what serve --data keeps into a PostgreSQL database, for serve --store")
    .description(
      "Moves what a stopped server keeps in its data directory into the PostgreSQL database of --store: sources that were added through the API, ids by which repeats are known, audiences, computed traits, usage, pending deliveries, and then the history. It says when servers may start on the database, and continues where it was interrupted. Pending deliveries leave the directory; all else stays in it, too. Exits 1 if it was interrupted.",
    )
    .argument("<dir>", "the directory of serve --data, or the file of a sqliteStore")
    .addOption(storeOption("the PostgreSQL database to move into").makeOptionMandatory())
    .addHelpText("after", examples("move"))
    .action(async (from: string, flags: MoveFlags) => {
      // Loaded only now, so that help and the other commands do not wait for the driver.
      const { move } = await import("./run-move.ts");
      exit(await move(from, flags, terminal));
    });
}
