import type { DescribedCommand, DescribedOption, Values } from "./describe-program.ts";

/** A completion script for zsh: to source, or to put into a folder of `fpath` as `_countersign`. */
export function zshScript(commands: readonly DescribedCommand[]): string {
  const cases = commands.map(({ name, options, argument }) => {
    const specs = options.map(optionSpec);
    if (argument) specs.push(`'1:argument:${action(argument)}'`);
    return `    ${name})\n      _arguments \\\n        ${specs.join(" \\\n        ")}\n      ;;`;
  });
  const summaries = commands.map(({ name, summary }) => `    '${name}:${escaped(summary)}'`);
  return `#compdef countersign
# Completion of countersign for zsh. Load it with: source <(countersign completion zsh)
_countersign() {
  local -a commands
  commands=(
${summaries.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = _countersign ]; then
  _countersign "$@"
else
  compdef _countersign countersign
fi
`;
}

function optionSpec({ name, description, values, isRepeatable }: DescribedOption): string {
  const value = values ? `:value:${action(values)}` : "";
  return `'${isRepeatable ? "*" : ""}${name}[${escaped(description)}]${value}'`;
}

function action(values: Values): string {
  if (values.kind === "words") return `(${values.words.join(" ")})`;
  return { file: "_files", directory: "_files -/", text: " " }[values.kind];
}

/** Colons and brackets end a description. A quote ends the text of the shell. */
function escaped(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, String.raw`\$&`).replaceAll("'", String.raw`'\''`);
}
