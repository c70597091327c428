import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A fenced block of a page. */
export interface Block {
  /** The language of the fence: `sh`, `ts`. */
  readonly language: string;
  readonly code: string;
  /** The file that the text before the block names, if it does: the last path in backticks. */
  readonly file: string | undefined;
  /** The heading above it. */
  readonly section: string;
}

const FILE = /`((?:[\w.@$+-]+\/)*[\w.@$+-]+\.(?:tsx?|[cm]?js|jsonc?|toml|vars))`/g;

/**
 * The fenced blocks of a page, in their order.
 *
 * @param path - From the root of the repository.
 * @param framework - On a page where the reader chooses one: blocks for others are left out.
 */
export function readPage(path: string, framework?: string): readonly Block[] {
  const text = readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8");
  const blocks: Block[] = [];
  let section = "";
  let isChosen = true;
  let before: string[] = [];
  let open: { language: string; indent: string; code: string[] } | undefined;
  for (const line of text.split("\n")) {
    const fence = /^(\s*)```(\w*)/.exec(line);
    if (open !== undefined) {
      if (fence === null) {
        open.code.push(line.slice(open.indent.length));
        continue;
      }
      const { language, code } = open;
      const file = [...before.join(" ").matchAll(FILE)].at(-1)?.[1];
      open = undefined;
      // The text before alternatives is for each of them.
      if (!isChosen) continue;
      blocks.push({ language, code: `${code.join("\n")}\n`, file, section });
      before = [];
    } else if (fence !== null) {
      open = { indent: fence[1] ?? "", language: fence[2] ?? "", code: [] };
    } else if (/^#+ /.test(line)) {
      section = line.replace(/^#+ /, "");
      before = [];
    } else if (line.startsWith("<div data-framework=")) {
      isChosen = framework === undefined || (/"(.*)"/.exec(line)?.[1] ?? "").split(" ").includes(framework);
    } else if (line === "</div>") {
      isChosen = true;
    } else if (line !== "") {
      before.push(line);
    } else if (before.at(-1)?.endsWith(":") !== true) {
      before = [];
    }
  }
  if (blocks.length === 0) throw new Error(`${path} has no blocks of code.`);
  return blocks;
}

/** The lines of the page's commands. */
export function commandsIn(blocks: readonly Block[]): readonly string[] {
  return blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.trim().split("\n"))
    .map((line) => line.replace(/ +# .*$/, ""));
}
