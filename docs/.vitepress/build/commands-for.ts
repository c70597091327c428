/** The package managers whose commands the pages show. */
export const MANAGERS = ["npm", "pnpm", "yarn", "bun"] as const;

/** One of them. */
export type Manager = (typeof MANAGERS)[number];

/** The same commands for another package manager. The pages are written for npm. */
export function commandsFor(manager: Manager, commands: string): string {
  if (manager === "npm") return commands;
  const add = { pnpm: "pnpm add", yarn: "yarn add", bun: "bun add" }[manager];
  // What the pages do not install is downloaded; the other tools are the project's.
  const download = { pnpm: "pnpm dlx", yarn: "yarn dlx", bun: "bunx" }[manager];
  const run = { pnpm: "pnpm exec", yarn: "yarn", bun: "bunx" }[manager];
  return commands
    .replaceAll(/^npm install --save-dev /gm, `${add} -D `)
    .replaceAll(/^npm install /gm, `${add} `)
    .replaceAll(/^((?:\w+=(?:"[^"]*"|\S+) )*)npx (?:-y )?(?=countersign\b)/gm, `$1${download} `)
    .replaceAll(/^((?:\w+=(?:"[^"]*"|\S+) )*)npx /gm, `$1${run} `);
}
