import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, fileMessageOf, isObject, messageOf, parseJson } from "@countersign/protocol";
import { SettingsError, type SourceSettings } from "@countersign/sender";
import { ServerError, writtenByNewer } from "../errors/server-error.ts";
import { replaceFile } from "../replace-file.ts";

const FORMAT_VERSION = 1;

const FILE_START = Buffer.from(`{\n  "version": ${FORMAT_VERSION},\n  "sources": [`);
const LIST_END = Buffer.from("\n  ");
const FILE_END = Buffer.from("]\n}");

/** Where a source is managed: in the flags and the config file, or through the control API. */
export type Manager = "config" | "api";

/** Where the sources are kept that the control API manages: in a file, in a store that several processes share, or nowhere. */
export interface KeptSettings {
  /** The file, if they are in one. */
  readonly path?: string | undefined;
  /** Whether the store has them. */
  readonly inStore?: boolean | undefined;
}

/**
 * Knows which sources come from the flags or the config file, and keeps the others in a file, unless the store has them. At every start
 * the flags and the config take precedence for the sources that they name: the API can edit those until the
 * restart.
 */
export class SettingsBook {
  readonly #configured: ReadonlySet<string>;
  readonly #path: string | undefined;
  /** Whether the store has the sources that the API manages. */
  readonly inStore: boolean;
  /** All sources to start with. */
  readonly initial: readonly SourceSettings[];
  /** Those of the file, with the ones that the configuration has in their place. */
  readonly #saved: readonly SourceSettings[];
  /** The sources as they stand in the file: as bytes, since to join and to encode thousands of texts takes longer than to make one. */
  readonly #items = new WeakMap<SourceSettings, Buffer>();

  /**
   * @param configured The sources of the flags or the config file.
   * @param kept Where the others are; without a place they are kept in memory.
   * @throws ServerError if the file cannot be read, or is not one of these.
   */
  constructor(configured: readonly SourceSettings[], { path, inStore = false }: KeptSettings = {}) {
    this.#configured = new Set(configured.map(({ name }) => name));
    this.#path = path;
    this.inStore = inStore;
    this.#saved = path === undefined ? [] : readSources(path);
    this.initial = [...configured, ...this.#saved.filter(({ name }) => !this.#configured.has(name))];
  }

  /** What to throw when the sender could not be opened: if the file is at fault, its settings are nowhere else to be found. */
  explained(error: unknown): unknown {
    if (!(error instanceof SettingsError) || this.#path === undefined) return error;
    const problems: string[] = [];
    for (const { path, problem } of error.issues) {
      const place = /^sources\[(\d+)\]/.exec(path);
      const source = this.initial[Number(place?.[1])];
      const index = source === undefined ? -1 : this.#saved.indexOf(source);
      // What is wrong in the configuration comes first, and is told in its words.
      if (index === -1) return error;
      problems.push(path.replace(/\d+/, String(index)) + ` ${problem}`);
    }
    const lines = problems.map((problem) => `\n- ${problem}`);
    return unusable(this.#path, `cannot be used. Correct it, or move it away.${lines.join("")}`, error);
  }

  /** Where a source is managed. */
  managerOf(name: string): Manager {
    return this.#configured.has(name) ? "config" : "api";
  }

  /** Why a change of a source does not outlast the server; `undefined` if it does. */
  whyTemporary(name: string): string | undefined {
    if (this.#configured.has(name)) {
      return "This source comes from the flags or the config file. The change lasts until the server restarts; change it there to keep it.";
    }
    if (this.inStore || this.#path !== undefined) return undefined;
    return "The server keeps its settings in memory. Start it with --data to keep them.";
  }

  /**
   * Saves the sources that the API manages. The file is written as a whole; the text of a source that was saved before is not made again.
   *
   * @param sources Those of the settings of a sender, which do not change.
   * @throws ServerError if the file cannot be written; it is then as it was.
   */
  save(sources: readonly SourceSettings[]): void {
    if (this.#path === undefined) return;
    const own = sources.filter(({ name }) => !this.#configured.has(name));
    try {
      replaceFile(this.#path, this.#fileOf(own));
    } catch (error) {
      throw unusable(
        this.#path,
        `cannot be written: ${fileMessageOf(error)}. Make room, or correct its permissions.`,
        error,
      );
    }
  }

  /** What `JSON.stringify()` makes of the file, indented by 2. */
  #fileOf(sources: readonly SourceSettings[]): Uint8Array {
    const [first, ...others] = sources.map((source) => this.#itemOf(source));
    const list = first === undefined ? [] : [first.subarray(1), ...others, LIST_END];
    return Buffer.concat([FILE_START, ...list, FILE_END]);
  }

  /** A source as an item of the list, with the comma before it. */
  #itemOf(source: SourceSettings): Buffer {
    let item = this.#items.get(source);
    if (item === undefined) {
      item = Buffer.from(`,\n${JSON.stringify(source, undefined, 2)}`.replaceAll("\n", "\n    "));
      this.#items.set(source, item);
    }
    return item;
  }
}

/**
 * The sources that the control API has added to a server with this data directory.
 *
 * @throws ServerError `ERR_DATA_UNREADABLE` or `ERR_DATA_VERSION` if they cannot be read
 */
export function savedSources(data: string): readonly SourceSettings[] {
  return readSources(settingsFile(data));
}

/** Where a data directory has them. */
export function settingsFile(data: string): string {
  return join(data, "settings.json");
}

function readSources(path: string): readonly SourceSettings[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw unusable(path, `cannot be read: ${messageOf(error)}. Correct its permissions.`, error);
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw unusable(path, `is not JSON: ${messageOf(error)}. Correct it, or move it away.`, error);
  }
  const { version, sources } = isObject(value) ? value : {};
  if (typeof version === "number" && version > FORMAT_VERSION) throw writtenByNewer(path);
  if (
    !Array.isArray(sources) ||
    !sources.every((source) => isObject(source) && typeof source["name"] === "string")
  )
    throw unusable(path, "has no list of sources. Correct it, or move it away.");
  // What is in each of them is checked by the sender, as in a config file.
  return sources as readonly SourceSettings[];
}

function unusable(path: string, problem: string, cause?: unknown): ServerError {
  return new ServerError("ERR_DATA_UNREADABLE", `The settings file ${path} ${problem}`, cause);
}
