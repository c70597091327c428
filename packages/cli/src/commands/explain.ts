import { Command } from "commander";
import type { Terminal } from "../terminal/terminal.ts";
import { examples } from "./examples.ts";

/** `countersign explain` */
export function explainCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("explain")
    .summary("explain an error code, a reason or a status")
    .description(
      "Explains a code: its usual cause, what to do, and an example. Takes every code of an error, a rejection, an attempt or an outcome, and the HTTP status of a receiver. Without a code, lists all.",
    )
    .argument("[code]", "such as ERR_SIGNATURE_MISMATCH, ECONNREFUSED, no_write_key or 404")
    .option("--json", "print JSON")
    .addHelpText("after", examples("explain"))
    .action(async (code: string | undefined, { json = false }: { readonly json?: boolean }) => {
      const { explain, list } = await import("./run-explain.ts");
      if (code === undefined) list(terminal, json);
      else explain(code, terminal, json);
      exit(0);
    });
}
