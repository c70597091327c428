import type { DescribedCommand, Values } from "./describe-program.ts";

/** A completion script for bash 3.2 or later: macOS still has version 3.2. */
export function bashScript(commands: readonly DescribedCommand[]): string {
  const afterOption = commands.flatMap(({ name, options }) =>
    options.flatMap(({ name: option, values }) =>
      values ? [`    "${name} ${option}") ${offer(values)} ;;`] : [],
    ),
  );
  const options = commands.map(
    ({ name, options: list }) => `      ${name}) words='${list.map((option) => option.name).join("\n")}' ;;`,
  );
  const argument = commands.flatMap(({ name, argument: values }) =>
    values?.kind === "words" ? [`      ${name}) words='${values.words.join("\n")}' ;;`] : [],
  );
  return `# Completion of countersign for bash. Load it with: source <(countersign completion bash)
_countersign() {
  # Words are on lines of their own, so that a space in a file name does not split it.
  local IFS=$'\\n' words= current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join("\n")}' -- "$current"))
    return
  fi
  case "$command $previous" in
${afterOption.join("\n")}
  esac
  if [ "\${current:0:1}" = - ]; then
    case "$command" in
${options.join("\n")}
    esac
  else
    case "$command" in
${argument.join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
# Where nothing else is offered, readline completes names of files.
complete -o default -F _countersign countersign
`;
}

function offer(values: Values): string {
  if (values.kind === "words")
    return `COMPREPLY=($(compgen -W '${values.words.join("\n")}' -- "$current")); return`;
  return values.kind === "directory" ? `COMPREPLY=($(compgen -d -- "$current")); return` : "return";
}
