/** What a reader chooses once, and every page follows. */
export const CHOICES = {
  framework: {
    label: "Framework",
    values: {
      express: "Express",
      fastify: "Fastify",
      koa: "Koa",
      nestjs: "NestJS",
      fetch: "Next.js, Hono, Workers",
    },
  },
  manager: { label: "Package manager", values: { npm: "npm", pnpm: "pnpm", yarn: "Yarn", bun: "Bun" } },
} as const;

export type ChoiceName = keyof typeof CHOICES;

/** Where a choice is kept. */
export function storageKey(name: ChoiceName): string {
  return `countersign-${name}`;
}

/** Shows a choice on the page: style.css hides what belongs to the others. */
export function show(name: ChoiceName, value: string): void {
  document.documentElement.dataset[name] = value;
}

/** Runs in the head, before anything is painted, so that no page shows one choice and then another. */
export const EARLY_SCRIPT: string = `for (const [name, first] of ${JSON.stringify(
  Object.entries(CHOICES).map(([name, { values }]) => [name, Object.keys(values)[0]]),
)}) {
  let value = null;
  try { value = localStorage.getItem("countersign-" + name); } catch {}
  document.documentElement.dataset[name] = value || first;
}`;
