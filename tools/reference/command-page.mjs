import { createProgram } from "../../packages/cli/dist/program.js";
import { cell, table } from "./table.mjs";

/** The page of the command: every subcommand with its arguments and options, as `--help` has them. */
export function commandPage() {
  const program = createProgram({}, () => {});
  const commands = program.commands.toSorted((a, b) => a.name().localeCompare(b.name()));
  return [
    "# Commands and options",
    "",
    "Every command of `countersign`, with all options. [The command](../cli.md) explains them with examples.",
    "",
    ...commands.flatMap(sectionOf),
  ].join("\n");
}

function sectionOf(command) {
  const rows = command.options.filter(({ hidden }) => !hidden).map(rowOf);
  return [
    `## ${command.name()}`,
    "",
    cell(command.description().split("\n\n")[0] ?? ""),
    "",
    "```text",
    `countersign ${command.name()} ${command.usage()}`,
    "```",
    "",
    ...command.registeredArguments.flatMap((argument) => [
      `\`${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}\`: ${cell(sentenceOf(argument))}`,
      "",
    ]),
    ...(rows.length === 0 ? [] : [table(["option", "meaning", "default", "variable"], rows), ""]),
  ];
}

function sentenceOf({ description, argChoices = [] }) {
  const choices = argChoices.length > 0 ? `one of ${argChoices.join(", ")}` : "";
  return [description, choices].filter((text) => text !== "").join("; ");
}

function rowOf(option) {
  const [, described, ofText] = /^(.*?)(?: \(default: (.+)\))?$/s.exec(sentenceOf(option)) ?? [];
  const ofOption = option.defaultValueDescription ?? option.defaultValue;
  const value = ofText ?? (Array.isArray(ofOption) || ofOption === true ? undefined : ofOption);
  return [
    `\`${option.flags}\``,
    described + (option.mandatory ? "; required" : ""),
    value ?? "",
    option.envVar === undefined ? "" : `\`${option.envVar}\``,
  ];
}
