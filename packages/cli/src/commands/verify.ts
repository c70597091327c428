import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Command } from "commander";
import { messageOf } from "@countersign/protocol";
import { examples } from "./examples.ts";
import { secretOption } from "./receiver-options.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../errors/usage-error.ts";

interface VerifyFlags {
  readonly secret: string;
  readonly signature: string;
  readonly json?: boolean;
}

/** `countersign verify` */
export function verifyCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("verify")
    .summary("explain why a signature matches a body, or why it does not")
    .description(
      "Explains in one sentence why a signature matches a body, or why it does not. Exits 1 if it does not.",
    )
    .argument("[file]", "file with the exact body; - reads standard input", "-")
    .addOption(secretOption("the shared secret").makeOptionMandatory())
    .requiredOption("--signature <value>", "value of the X-Signature header")
    .option("--json", "print the result as JSON")
    .addHelpText("after", examples("verify"))
    .action(async (file: string, { secret, signature, json }: VerifyFlags) => {
      const body = await readBody(file, terminal);
      const { explainSignature } = await import("@countersign/server/explain");
      const { matches, sentence, diagnoses } = explainSignature({ body, signature, secret });
      const mark = matches ? terminal.colors.green("match") : terminal.colors.red("no match");
      terminal.print(json ? jsonLine({ matches, sentence, diagnoses }) : `${mark}: ${printable(sentence)}`);
      exit(matches ? 0 : 1);
    });
}

async function readBody(file: string, { stdin }: Terminal): Promise<Uint8Array> {
  if (file !== "-") {
    return readFile(file).catch((error: unknown) => {
      throw new UsageError(
        `Cannot read ${file}: ${messageOf(error)}. Give the file with the body, or - for standard input.`,
      );
    });
  }
  if (stdin.isTTY)
    throw new UsageError(
      "The body is missing. Pass a file, or pipe the body in: countersign verify ... < body.json",
    );
  return buffer(stdin);
}
