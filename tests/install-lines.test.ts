import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { publicPackages } from "../scripts/public-packages.mjs";
import { documents, read } from "./support/documents.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What is there before the package is installed: the app's framework, its test runner, the client that it has. */
const PRESENT: Readonly<Record<string, RegExp>> = {
  certify: /^vitest$/,
  nestjs: /^@nestjs\//,
  server: /^@segment\/analytics-node$/,
};

/** Every package, the command apart: its README imports nothing. */
const NAMES = publicPackages()
  .map(({ name }) => name)
  .filter((name) => name !== "cli");

// Under pnpm's strict layout, a package finds only what its app names.
it.each(NAMES)("the README of %s installs what its examples import", async (name) => {
  expect(await notInstalled(`packages/${name}/README.md`, PRESENT[name])).toEqual([]);
});

it("the README of the repository installs what its examples import", async () => {
  expect(await notInstalled("README.md")).toEqual([]);
});

// npm, pnpm and Bun install the peers of a package, too; Yarn does not.
it("a line that installs vitest installs vite, its peer", () => {
  const lines = documents().flatMap((page) =>
    read(page)
      .split("\n")
      .filter((line) => /^npm install .*\bvitest\b/u.test(line)),
  );
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.filter((line) => !/ vite(?: |$)/u.test(line))).toEqual([]);
});

/** What the examples of a page import and none of its lines installs. */
async function notInstalled(page: string, present?: RegExp): Promise<readonly string[]> {
  const text = await readFile(`${root}${page}`, "utf8");
  const lines = [...text.matchAll(/^npm install (.+)$/gm)];
  const installed = new Set(lines.flatMap(([, line = ""]) => line.split(" ")));
  // A package of types installs what is imported under the other name.
  for (const one of installed) if (one.startsWith("@types/")) installed.add(one.slice("@types/".length));
  const imported = [...text.matchAll(/^(?:import|\}) .*?from "((?:@[^/"]+\/)?[^@./"][^/"]*)/gm)].map(
    ([, one]) => one ?? "",
  );
  expect(imported.length).toBeGreaterThan(0);
  // The examples are compiled with `z` in scope, so that a page may import it once.
  if (text.includes("z.object({")) imported.push("zod");
  const missing = imported.filter(
    (one) => !installed.has(one) && !one.startsWith("node:") && !present?.test(one),
  );
  return [...new Set(missing)];
}
