import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What an app of the framework has before it installs the adapter. */
const PRESENT: Readonly<Record<string, RegExp>> = { nestjs: /^@nestjs\// };

// Under pnpm's strict layout, a package finds only what its app names.
it.each(["express", "fastify", "koa", "fetch", "nestjs"])(
  "the README of %s installs what its examples import",
  async (name) => {
    const text = await readFile(`${root}packages/${name}/README.md`, "utf8");
    const lines = [...text.matchAll(/^npm install (.+)$/gm)];
    const installed = new Set(lines.flatMap(([, line = ""]) => line.split(" ")));
    // A package of types installs what is imported under the other name.
    for (const one of installed) if (one.startsWith("@types/")) installed.add(one.slice("@types/".length));
    const imported = [...text.matchAll(/^(?:import|\}) .*?from "((?:@[^/"]+\/)?[^@./"][^/"]*)/gm)].map(
      ([, one]) => one ?? "",
    );
    expect(imported.length).toBeGreaterThan(3);
    const missing = imported.filter(
      (one) => !installed.has(one) && !one.startsWith("node:") && !PRESENT[name]?.test(one),
    );
    expect([...new Set(missing)]).toEqual([]);
  },
);
