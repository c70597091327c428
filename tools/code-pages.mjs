// The pages of the error codes: docs/errors, one for each code that `countersign explain` knows.
//   node code-pages.mjs           writes them
//   node code-pages.mjs --check   fails where a page is missing, differs, or explains a code that does not exist
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CODE_GROUPS } from "countersign/codes";

const folder = fileURLToPath(new URL("../docs/errors/", import.meta.url));

function pageOf(code, where, { cause, fix, language, example }) {
  return [
    `# ${code}`,
    "",
    `${capitalised(where)}. \`countersign explain ${code}\` prints this page in the terminal.`,
    "",
    "## Cause",
    "",
    cause,
    "",
    ...(fix === "" ? [] : ["## What to do", "", fix, ""]),
    "## Example",
    "",
    `\`\`\`${language}`,
    example,
    "```",
    "",
    "[All codes](index.md)",
    "",
  ].join("\n");
}

function indexPage() {
  const lists = CODE_GROUPS.flatMap(({ where, pages }) => [
    `## ${capitalised(where)}`,
    "",
    ...Object.keys(pages).map((code) => `- [${code}](${code}.md)`),
    "",
  ]);
  return [
    "# Error codes",
    "",
    "Each code is stable: you can rely on it in code and in searches. `countersign explain CODE` prints the same explanation in the",
    "terminal.",
    "",
    ...lists,
  ].join("\n");
}

function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const pages = new Map([["index.md", indexPage()]]);
for (const { where, pages: group } of CODE_GROUPS) {
  for (const [code, page] of Object.entries(group)) pages.set(`${code}.md`, pageOf(code, where, page));
}

const stored = new Set(readdirSync(folder));
const surplus = [...stored].filter((file) => !pages.has(file));
if (process.argv.includes("--check")) {
  const differing = [...pages].filter(
    ([file, text]) => !stored.has(file) || readFileSync(folder + file, "utf8") !== text,
  );
  const wrong = [...differing.map(([file]) => file), ...surplus];
  if (wrong.length > 0) {
    console.error(
      `docs/errors is not what the codes say: ${wrong.join(", ")}. Run pnpm docs:write, and commit the pages.`,
    );
    process.exit(1);
  }
} else {
  mkdirSync(folder, { recursive: true });
  for (const file of surplus) rmSync(folder + file);
  for (const [file, text] of pages) writeFileSync(folder + file, text);
}
console.log(`${pages.size - 1} codes, each with a page`);
