// The reference pages that come from the code: docs/reference/commands.md, operations.md and options.md.
//   node reference-pages.mjs           writes them
//   node reference-pages.mjs --check   fails where one differs from the code, or an option has no doc comment
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { commandPage } from "./reference/command-page.mjs";
import { controlApiPage } from "./reference/control-api-page.mjs";
import { optionsPage } from "./reference/options-page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url)).replaceAll("\\", "/");
const folder = `${root}docs/reference/`;
const problems = [];
const pages = new Map([
  ["commands.md", commandPage()],
  ["operations.md", controlApiPage()],
  ["options.md", optionsPage(root, problems)],
]);

/** The lines that only one of two texts has. */
function difference(stored, made) {
  const [before, after] = [stored.split("\n"), made.split("\n")];
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => `  - ${line}`),
    ...after.filter((line) => !before.includes(line)).map((line) => `  + ${line}`),
  ].join("\n");
}

if (process.argv.includes("--check")) {
  for (const [file, text] of pages) {
    const stored = existsSync(folder + file) ? readFileSync(folder + file, "utf8") : "";
    if (stored !== text)
      problems.push(
        `docs/reference/${file} is not what the code says. Run pnpm docs:write, and commit it.\n${difference(stored, text)}`,
      );
  }
} else {
  for (const [file, text] of pages) writeFileSync(folder + file, text);
}
for (const problem of problems) console.error(problem);
console.log(`${pages.size} reference pages`);
if (problems.length > 0) process.exitCode = 1;
