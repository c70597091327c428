import { placeOf, type Block } from "./documents.ts";

/** A command of a block. */
export interface CommandLine {
  /** The file and the line of its block. */
  readonly at: string;
  /** Without `npx` and variables in front. */
  readonly words: readonly string[];
}

/** Each command of blocks, by its words. A pipe divides commands; a line that ends with a backslash goes on. */
export function commandLines(blocks: readonly Block[]): readonly CommandLine[] {
  return blocks.flatMap((block) => {
    const text = block.text.replaceAll(/\\\n\s*/g, " ").replaceAll(/^\$ /gm, "");
    return text
      .split("\n")
      .flatMap(parts)
      .map((words) => ({ at: placeOf(block), words: withoutPrefix(words) }))
      .filter(({ words }) => words.length > 0);
  });
}

function withoutPrefix(words: readonly string[]): readonly string[] {
  const start = words.findIndex((word) => !/^[A-Z_0-9]+=/.test(word));
  const rest = (start === -1 ? [] : words.slice(start)).map((word) => word.replace(/^pnpm@\d+$/, "pnpm"));
  return rest[0] === "npx" ? rest.slice(rest[1] === "-y" ? 2 : 1) : rest;
}

/** The words of each command of a line, as a shell divides them. Comments and redirections are left out. */
function parts(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  const pattern =
    /\s*(?:(#.*$)|(\|\||&&|[|;&])|>>?\s*\S+|<\s*\S+|((?:'[^']*'|"(?:\\.|[^"])*"|\\.|[^\s'"|;&<>])+))/gy;
  for (let match = pattern.exec(line); match !== null; match = pattern.exec(line)) {
    const [, comment, divider, word] = match;
    if (comment !== undefined) break;
    if (divider !== undefined) commands.push([]);
    else if (word !== undefined) commands.at(-1)?.push(unquoted(word));
  }
  return commands;
}

function unquoted(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:\\.|[^"])*)"|\\(.)/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$])/g, "$1") ?? escaped ?? "",
  );
}
