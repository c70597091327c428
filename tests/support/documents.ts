import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block of a document, or of a doc comment. */
export interface Block {
  /** Path from the root of the repository, with slashes. */
  readonly file: string;
  /** The line its text begins on, counted from 1. */
  readonly line: number;
  /** What stands behind the fence; empty if nothing does. */
  readonly language: string;
  readonly text: string;
}

/** Where a block is, for a message. */
export function placeOf({ file, line }: Pick<Block, "file" | "line">): string {
  return `${file}:${line}`;
}

/** Folders without documents of ours: what is installed, built or generated from sources that are checked themselves. */
const SKIPPED = new Set(["node_modules", "dist", "api", "sbom", "test"]);

/** Every Markdown document of the repository, by its path from the root. */
export function documents(): readonly string[] {
  return filesBelow("").filter((file) => file.endsWith(".md"));
}

/** Every source file of the packages. */
export function sources(): readonly string[] {
  return filesBelow("packages/").filter((file) => /^packages\/[^/]+\/src\/.*\.tsx?$/.test(file));
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) return [];
    return entry.isDirectory() ? filesBelow(`${folder}${entry.name}/`) : [`${folder}${entry.name}`];
  });
}

export function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** The fenced blocks of a document, or of the doc comments of a source. */
export function blocksOf(file: string): readonly Block[] {
  const isDocument = file.endsWith(".md");
  const blocks: Block[] = [];
  let begun: { line: number; language: string; lines: string[] } | undefined;
  for (const [index, line] of read(file).split("\n").entries()) {
    const content = isDocument ? line : line.replace(/^\s*\* ?/, "");
    const fence = /^\s*```(.*)$/.exec(content);
    if (begun === undefined) {
      if (fence && (isDocument || /^\s*\*/.test(line)))
        begun = { line: index + 2, language: fence[1]?.trim() ?? "", lines: [] };
    } else if (fence) {
      blocks.push({ file, line: begun.line, language: begun.language, text: begun.lines.join("\n") });
      begun = undefined;
    } else begun.lines.push(content);
  }
  return blocks;
}
