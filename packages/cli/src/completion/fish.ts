import type { DescribedCommand, Values } from "./describe-program.ts";

/** A completion script for fish. */
export function fishScript(commands: readonly DescribedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const lines = commands.flatMap(({ name, summary, options, argument }) => {
    const seen = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c countersign -n 'not __fish_seen_subcommand_from ${names}' -a ${name} -d '${escaped(summary)}'`,
      ...(argument ? [`complete -c countersign ${seen} ${offer(argument)}`.trimEnd()] : []),
      ...options.map(
        ({ name: option, description, values }) =>
          `complete -c countersign ${seen} -l ${option.slice(2)} ${values ? `-r ${offer(values)} ` : ""}-d '${escaped(description)}'`,
      ),
    ];
  });
  return `# Completion of countersign for fish. Load it with: countersign completion fish | source
complete -c countersign -e
complete -c countersign -f
${lines.join("\n")}
`;
}

function offer(values: Values): string {
  if (values.kind === "words") return `-f -a '${values.words.join(" ")}'`;
  return { file: "-F", directory: "-f -a '(__fish_complete_directories)'", text: "-f" }[values.kind];
}

function escaped(text: string): string {
  return text.replaceAll(/[\\']/g, String.raw`\$&`);
}
