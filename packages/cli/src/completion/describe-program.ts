import type { Command, Option } from "commander";

/** What a shell offers for a value. */
export type Values =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "file" | "directory" | "text" };

/** An option of a command. */
export interface DescribedOption {
  /** With its dashes: `--port`. */
  readonly name: string;
  readonly description: string;
  /** What it takes; `undefined` for a flag. */
  readonly values: Values | undefined;
  readonly isRepeatable: boolean;
}

/** A command of the program. */
export interface DescribedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly DescribedOption[];
  /** What its first argument can be, if it takes one. */
  readonly argument: Values | undefined;
}

/** Words for values whose choices the program does not list itself, by `command --option` or `command <argument>`. */
export type MoreWords = Readonly<Record<string, readonly string[]>>;

/**
 * What a shell needs to know of the program: its commands, and what each takes.
 *
 * @throws TypeError when `more` names something that the program does not have.
 */
export function describeProgram(program: Command, more: MoreWords): readonly DescribedCommand[] {
  const used = new Set<string>();
  const wordsFor = (place: string): readonly string[] | undefined => {
    if (more[place] !== undefined) used.add(place);
    return more[place];
  };
  const described = program.commands.map((command) => describeCommand(command, wordsFor));
  const unused = Object.keys(more).find((place) => !used.has(place));
  if (unused !== undefined) throw new TypeError(`The program has no ${unused}.`);
  return described;
}

type WordsFor = (place: string) => readonly string[] | undefined;

function describeCommand(command: Command, wordsFor: WordsFor): DescribedCommand {
  const name = command.name();
  const [argument] = command.registeredArguments;
  return {
    name,
    summary: command.summary(),
    options: [
      ...command.options
        .filter(({ hidden }) => !hidden)
        .map((option) => describeOption(option, name, wordsFor)),
      { name: "--help", description: "show the help", values: undefined, isRepeatable: false },
    ],
    argument:
      argument && valuesOf(argument.name(), argument.argChoices ?? wordsFor(`${name} <${argument.name()}>`)),
  };
}

function describeOption(option: Option, command: string, wordsFor: WordsFor): DescribedOption {
  const name = option.long ?? option.flags;
  const [, value] = /[<[](.+?)[>\]]/.exec(option.flags) ?? [];
  return {
    name,
    description: option.description,
    values:
      value === undefined ? undefined : valuesOf(value, option.argChoices ?? wordsFor(`${command} ${name}`)),
    isRepeatable: option.description.includes("repeatable"),
  };
}

/** The name of a value says what it is: `<file>`, `<dir>`. */
function valuesOf(name: string, words: readonly string[] | undefined): Values {
  if (words !== undefined) return { kind: "words", words };
  if (name === "file") return { kind: "file" };
  return { kind: name === "dir" ? "directory" : "text" };
}
