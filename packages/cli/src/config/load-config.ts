import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";
import { messageOf, parseJson } from "@countersign/protocol";
import { configProblem, type Config } from "./config.ts";
import { searchedFolders, trustProblem } from "./trusted-folders.ts";

/** A config file that was found and read. */
export interface LoadedConfig {
  readonly file: string;
  readonly config: Config;
  /** What could not be checked about the file. */
  readonly warning?: string | undefined;
}

/** A config file cannot be used. The message names it and says why. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const CORRECT_IT = "Correct it, or pass another file with --config.";

const EXTENSIONS: readonly string[] = [".ts", ".mts", ".js", ".mjs", ".json"];

/** Extensions that other tools read. */
const OTHER_EXTENSIONS: readonly string[] = [".cjs", ".cts", ".yaml", ".yml"];

/**
 * Finds and reads a config file. A config file is code, so the search stays where the project is: it ends at the folder with
 * `.git`, else at the topmost `package.json` below the home directory. A file that somebody else could have written is refused.
 *
 * @param directory Where to begin.
 * @param file Read this one instead of searching. It is trusted.
 * @returns The config and its file, or `undefined` if no config file was found.
 * @throws ConfigError when it cannot be read or trusted, or something in it is wrong.
 * @example
 * ```ts
 * import { createServer } from "@countersign/server";
 *
 * const loaded = await loadConfig(process.cwd());
 * const server = await createServer({ to: "http://localhost:3000/webhooks", ...loaded?.config });
 * ```
 */
export async function loadConfig(directory: string, file?: string): Promise<LoadedConfig | undefined> {
  const found =
    file === undefined ? await find(resolve(directory)) : await named(resolve(directory, file), file);
  if (found === undefined) return undefined;
  const path = found.file;
  const warning = file === undefined ? assertTrusted(path) : undefined;
  const read = await readConfig(found);
  const problem = configProblem(read);
  if (problem !== undefined) throw new ConfigError(`The config file ${path} ${problem} ${CORRECT_IT}`);
  return { file: path, config: withAbsolutePaths(read as Config, dirname(path)), warning };
}

/** A config file and its text. */
interface FoundFile {
  readonly file: string;
  readonly content: string;
}

/** Finds the nearest config file that is not empty. One that is not read is refused, since its settings would not apply. */
async function find(directory: string): Promise<FoundFile | undefined> {
  for (const folder of searchedFolders(directory)) {
    const fileWith = (extension: string): string => join(folder, `countersign.config${extension}`);
    for (const file of EXTENSIONS.map(fileWith).filter((path) => existsSync(path))) {
      const content = await contentOf(file, file);
      if (content.trim() !== "") return { file, content };
    }
    const other = OTHER_EXTENSIONS.map(fileWith).find((path) => existsSync(path));
    if (other !== undefined)
      throw new ConfigError(
        `The config file ${other} is none of ${EXTENSIONS.join(", ")}. Move its settings into countersign.config.js, which may be CommonJS, or countersign.config.json.`,
      );
  }
  return undefined;
}

async function named(file: string, given: string): Promise<FoundFile> {
  if (EXTENSIONS.includes(extname(file))) return { file, content: await contentOf(file, given) };
  throw new ConfigError(`The config file ${given} is none of ${EXTENSIONS.join(", ")}. ${CORRECT_IT}`);
}

async function contentOf(file: string, given: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new ConfigError(
      `Cannot read the config file ${given}: ${reason(error)}. Give --config a file that can be read.`,
    );
  }
}

/** Returns a warning where ownership means nothing. */
function assertTrusted(file: string): string | undefined {
  if (process.getuid === undefined) return `This system cannot tell who may write ${file}.`;
  const problem = trustProblem(file, process.getuid());
  if (problem === undefined) return undefined;
  throw new ConfigError(
    `The config file ${file} was found but not run: ${problem}. Correct that, or pass the file with --config.`,
  );
}

function withAbsolutePaths(config: Config, directory: string): Config {
  const { data, record } = config;
  return {
    ...config,
    ...(data !== undefined && { data: resolve(directory, data) }),
    ...(record !== undefined && { record: resolve(directory, record) }),
  };
}

async function readConfig({ file, content }: FoundFile): Promise<unknown> {
  if (content.trim() === "") return undefined;
  return extname(file) === ".json" ? readJson(file, content) : runModule(file);
}

/** What a file exports by default; in CommonJS, what it exports. */
async function runModule(file: string): Promise<unknown> {
  // Most servers have no config that is code, and do not wait for it to load.
  const { createJiti } = await import("jiti");
  const jiti = createJiti(file, { fsCache: false, moduleCache: false });
  const module = await jiti.import<object>(file).catch((error: unknown) => {
    throw new ConfigError(`The config file ${file} cannot be run: ${reason(error)}. ${CORRECT_IT}`);
  });
  // To be read as a property, one that is undefined is the whole module.
  const exported = Object.getOwnPropertyDescriptor(module, "default");
  if (exported !== undefined) return exported.value;
  const names = Object.keys(module).join(", ");
  throw new ConfigError(
    `The config file ${file} exports ${names === "" ? "nothing" : `${names}, and no default`}. Write \`export default\` before its settings, or pass another file with --config.`,
  );
}

function readJson(file: string, content: string): unknown {
  try {
    // Programs on Windows begin a file with a byte order mark.
    return parseJson(content.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConfigError(`The config file ${file} is not JSON: ${reason(error)}. ${CORRECT_IT}`);
  }
}

/** The first line, and the place of a syntax error, which is the second one. */
function reason(error: unknown): string {
  const [line = "", place = ""] = messageOf(error)
    .split("\n")
    .map((text) => text.trim());
  return /:\d+:\d+$/.test(place) ? `${line} at ${place}` : line;
}
