import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { commandsFor } from "../../../docs/.vitepress/build/commands-for.ts";
import type { Block } from "./page.ts";
import { cleanEnvironment, run, runToStatus, startServer, type Running, type RunOptions } from "./run.ts";

/** What the packages are installed with. */
export const MANAGERS = ["npm", "pnpm"] as const;

/** One of them. */
export type Manager = (typeof MANAGERS)[number];

/**
 * What most pages are followed with: pnpm, which is stricter. In the mode `whole` of Vitest, as in `pnpm test:long`, with npm
 * too.
 */
export const DEFAULT_MANAGERS: readonly Manager[] =
  process.env["COUNTERSIGN_WHOLE_HOSTS"] === "1" ? MANAGERS : ["pnpm"];

/** What every app in TypeScript on Node has, and gets with the first that it installs. */
export const NODE_TYPES = { "@types/node": "*" };

/** An app that begins empty, and is filled from a page. */
export interface Project {
  readonly folder: string;
  /** Runs a command line of a page, as it is shown for the project's package manager. */
  run(line: string): Promise<string>;
  /** The same, whatever the status is. */
  runToStatus(line: string): Promise<{ readonly status: number | null; readonly printed: string }>;
  /** Starts a command line of a page that listens on a port. */
  start(line: string, port: number, environment?: NodeJS.ProcessEnv): Promise<Running>;
  read(file: string): Promise<string>;
  write(file: string, text: string): Promise<void>;
  /** Type-checks what is there, strictly, and compiles it beside its sources. */
  compile(): Promise<void>;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const tsc = join(root, "node_modules/.bin/tsc");

/**
 * An empty project for `npm` or for `pnpm`, whose layout lets a file import only what the project itself names.
 *
 * @param devDependencies - What it names from the start.
 */
export async function createProject(
  manager: Manager,
  devDependencies: Readonly<Record<string, string>> = {},
): Promise<Project> {
  const [work, registry] = [inject("work"), inject("registry")];
  const folder = await mkdtemp(join(work, `${manager}-`));
  const path = [inject("pnpm"), process.env["PATH"]].join(delimiter);
  const options: RunOptions = { folder, environment: cleanEnvironment(work, { PATH: path }) };
  const project: Project = {
    folder,
    run: (line) => run(commandsFor(manager, line), options),
    runToStatus: (line) => runToStatus(commandsFor(manager, line), options),
    start: (line, port, added) =>
      startServer(commandsFor(manager, line), port, {
        folder,
        environment: { ...options.environment, ...added },
      }),
    read: (file) => readFile(join(folder, file), "utf8"),
    async write(file, text) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    },
    compile: async () => void (await run(`"${tsc}" --project tsconfig.json`, options)),
  };
  await project.write(
    "package.json",
    JSON.stringify({ name: "app", private: true, type: "module", devDependencies }),
  );
  await project.write(".npmrc", `@countersign:registry=${registry}\n`);
  await project.write(
    "pnpm-workspace.yaml",
    [`storeDir: ${work}/pnpm-store`, `cacheDir: ${work}/pnpm-cache`, "strictDepBuilds: false", ""].join("\n"),
  );
  await project.write(
    "tsconfig.json",
    JSON.stringify({ compilerOptions: COMPILER, exclude: ["node_modules"] }),
  );
  return project;
}

const COMPILER = {
  target: "es2022",
  module: "nodenext",
  strict: true,
  skipLibCheck: true,
  types: ["node"],
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

/**
 * Does what a page says: runs its install lines, and writes each block whose file is named.
 *
 * @param change - What differs from the page, such as the port.
 */
export async function follow(
  project: Project,
  blocks: readonly Block[],
  change: (text: string) => string = (text) => text,
): Promise<void> {
  for (const { language, code, file } of blocks) {
    if (language === "sh") {
      for (const line of code.trim().split("\n")) {
        if (line.startsWith("npm install ")) await project.run(line.replace(/ +# .*$/, ""));
      }
    } else if (file !== undefined) {
      await project.write(file, change(code));
    }
  }
}
