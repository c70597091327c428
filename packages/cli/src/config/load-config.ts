import { parse, dirname, resolve } from "node:path";
import { createJiti } from "jiti";
import { lilconfig } from "lilconfig";
import { configProblem, type Config } from "./config.ts";
import { messageOf } from "../errors/usage-error.ts";

/** A config file that was found and read. */
export interface LoadedConfig {
  readonly file: string;
  readonly config: Config;
}

/** A config file cannot be used. The message names it and says why. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const CORRECT_IT = "Correct it, or name another file with --config.";

const names = ["ts", "mts", "js", "mjs", "json"].map((extension) => `countersign.config.${extension}`);

/**
 * Finds and reads a config file.
 *
 * @param directory Where to begin; every directory above it is searched too.
 * @param file Read this one, instead of searching.
 * @returns `undefined` when there is none.
 * @throws ConfigError when it cannot be read, or something in it is wrong.
 * @example
 * ```ts
 * import { createServer } from "@countersign/server";
 *
 * const loaded = await loadConfig(process.cwd());
 * const server = await createServer({ to: "http://localhost:3000/webhooks", ...loaded?.config });
 * ```
 */
export async function loadConfig(directory: string, file?: string): Promise<LoadedConfig | undefined> {
  const explorer = lilconfig("countersign", {
    searchPlaces: names,
    stopDir: parse(resolve(directory)).root,
    cache: false,
    loaders: {
      ".ts": loadModule,
      ".mts": loadModule,
      ".js": loadModule,
      ".mjs": loadModule,
      ".json": loadJson,
    },
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
  return { file: found.filepath, config: withAbsolutePaths(found.config as Config, dirname(found.filepath)) };
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
    return JSON.parse(content) as unknown;
  } catch (error) {
    throw new ConfigError(`The config file ${file} is not JSON: ${reason(error)}. ${CORRECT_IT}`);
  }
}

/** The first line: a syntax error of a config file comes with a whole listing. */
function reason(error: unknown): string {
  const [line = ""] = messageOf(error).split("\n");
  return line;
}
