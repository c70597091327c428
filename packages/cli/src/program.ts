import {
  DATA_SYNONYMS,
  DELIVER_SYNONYMS,
  HOST_SYNONYMS,
  KEEP_FOR_SYNONYMS,
  MAX_BYTES_SYNONYMS,
  nearestName,
  SECRET_SYNONYMS,
  STORE_SYNONYMS,
  synonymOf,
  TO_SYNONYMS,
  TOKEN_SYNONYMS,
  WRITE_KEY_SYNONYMS,
} from "@countersign/protocol";
import { Command } from "commander";
import { version } from "./version.ts";
import { certifyCommand } from "./commands/certify.ts";
import { completionCommand } from "./commands/completion.ts";
import { explainCommand } from "./commands/explain.ts";
import { importCommand } from "./commands/import.ts";
import { listenCommand } from "./commands/listen.ts";
import { moveCommand } from "./commands/move.ts";
import { replayCommand } from "./commands/replay.ts";
import { sendCommand } from "./commands/send.ts";
import { serveCommand } from "./commands/serve.ts";
import { verifyCommand } from "./commands/verify.ts";
import { workCommand } from "./commands/work.ts";
import { printable, type Terminal } from "./terminal/terminal.ts";

/**
 * The command line: every command with its options and its help.
 *
 * @param exit Takes the exit code of the command that ran.
 */
export function createProgram(terminal: Terminal, exit: (code: number) => void): Command {
  const program = new Command("countersign")
    .description("Forward analytics events as signed webhooks, and test the receivers of such webhooks.")
    .version(version, "--version", "print the version")
    .addHelpText(
      "after",
      "\nExit codes: 0 success, 1 the check failed, 2 wrong usage.\nExample:\n  countersign serve --to http://localhost:3000/webhooks --secret dev",
    );
  const commands = [
    serveCommand,
    workCommand,
    moveCommand,
    sendCommand,
    certifyCommand,
    verifyCommand,
    replayCommand,
    listenCommand,
    importCommand,
    explainCommand,
    completionCommand,
  ];
  for (const make of commands) program.addCommand(make(terminal, exit));
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      outputError: (text, write) => write(`countersign: ${commanderError(text, command)} ${hint(command)}\n`),
    });
  }
  return program;
}

/** Commander starts with `error: `, puts suggestions on a separate line, and ends some sentences without a full stop. */
function commanderError(text: string, command: Command): string {
  const sentence = printable(
    text
      .replace(/^error: /, "")
      .trim()
      .replaceAll(/\s*\n\s*/g, " "),
  );
  const given = unknownOption(sentence, command);
  const renamed = given === undefined ? undefined : renamedOption(given, command);
  if (renamed !== undefined) return `unknown option '${given}'. It is called ${renamed} here.`;
  const whole = /[.)]$/.test(sentence) ? sentence : `${sentence}.`;
  // A shell makes several arguments of a value with spaces, such as a secret.
  if (sentence.startsWith("too many arguments")) return `${whole} Put a value with spaces in double quotes.`;
  if (given === undefined) return whole;
  const meant = nearestName(
    given,
    command.options.flatMap(({ long }) => long ?? []),
  );
  // Without what was given with it: that may be a secret, and CI keeps its logs.
  const unknown = `unknown option '${given}'${meant === undefined ? "" : ` (Did you mean ${meant}?)`}`;
  if (isMissing(sentence)) return `${unknown}, and ${whole}`;
  return meant === undefined ? `${unknown}.` : unknown;
}

/** Whether the sentence is about a required option, of which commander complains before it looks for unknown ones. */
function isMissing(sentence: string): boolean {
  return sentence.startsWith("required option");
}

/** The unknown option that was given. */
function unknownOption(sentence: string, { args }: Command): string | undefined {
  const given = isMissing(sentence)
    ? args.find((arg) => arg.startsWith("--"))
    : /^unknown option '(.*?)'/.exec(sentence)?.[1];
  return /^--?[\w-]+/.exec(given ?? "")?.[0];
}

/** What other tools call some options of the commands. Where two have the same word, the first one of a command is meant. */
const SYNONYMS = {
  secret: SECRET_SYNONYMS,
  to: TO_SYNONYMS,
  host: HOST_SYNONYMS,
  token: TOKEN_SYNONYMS,
  writeKey: WRITE_KEY_SYNONYMS,
  data: DATA_SYNONYMS,
  store: STORE_SYNONYMS,
  keepFor: KEEP_FOR_SYNONYMS,
  maxBytes: MAX_BYTES_SYNONYMS,
  deliver: DELIVER_SYNONYMS,
};

/** The name in this command of an option that other tools have. */
function renamedOption(unknown: string, { options }: Command): string | undefined {
  const named = new Map(options.map((option) => [option.attributeName(), option.long]));
  const synonyms = Object.entries(SYNONYMS).filter(([name]) => named.has(name));
  const name = synonymOf(unknown.replace(/^-+/, ""), Object.fromEntries(synonyms));
  return name === undefined ? undefined : (named.get(name) ?? undefined);
}

function hint(command: Command): string {
  const name = command.parent ? `countersign ${command.name()}` : "countersign";
  return `See ${name} --help for the options and an example.`;
}
