import { dirname, resolve } from "node:path";
import { createJiti } from "jiti";
import { lilconfig, type Loader } from "lilconfig";
import { configProblem, type Config } from "./config.ts";
import { messageOf } from "../errors/usage-error.ts";
import { searchEnd, trustProblem } from "./trusted-folders.ts";

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

const NAMES = ["ts", "mts", "js", "mjs", "json"].map((extension) => `countersign.config.${extension}`);

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
  let warning: string | undefined;
  const trusted =
    (load: Loader): Loader =>
    (path, content) => {
      if (file === undefined) warning = assertTrusted(path);
      return load(path, content) as unknown;
    };
  const [ofModule, ofJson] = [trusted(loadModule), trusted(loadJson)];
  const explorer = lilconfig("countersign", {
    searchPlaces: NAMES,
    stopDir: searchEnd(resolve(directory)),
    cache: false,
    loaders: { ".ts": ofModule, ".mts": ofModule, ".js": ofModule, ".mjs": ofModule, ".json": ofJson },
  });
  const found = await (
    file === undefined ? explorer.search(directory) : explorer.load(resolve(directory, file))
  ).catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `Cannot read the config file ${file ?? ""}: ${reason(error)}. Give --config a file that can be read.`,
    );
  });
  if (!found) return undefined;
  const problem = configProblem(found.config);
  if (problem !== undefined)
    throw new ConfigError(`The config file ${found.filepath} ${problem} ${CORRECT_IT}`);
  const config = withAbsolutePaths(found.config as Config, dirname(found.filepath));
  return { file: found.filepath, config, warning };
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

async function loadModule(file: string): Promise<unknown> {
  const jiti = createJiti(file, { fsCache: false, moduleCache: false });
  return jiti.import(file, { default: true }).catch((error: unknown) => {
    throw new ConfigError(`The config file ${file} cannot be run: ${reason(error)}. ${CORRECT_IT}`);
  });
}

async function loadJson(file: string, content: string): Promise<unknown> {
  try {
    // Programs on Windows begin a file with a byte order mark.
    return JSON.parse(content.replace(/^\uFEFF/, "")) as unknown;
  } catch (error) {
    throw new ConfigError(`The config file ${file} is not JSON: ${reason(error)}. ${CORRECT_IT}`);
  }
}

/** The first line: a syntax error of a config file has many. */
function reason(error: unknown): string {
  const [line = ""] = messageOf(error).split("\n");
  return line;
}
