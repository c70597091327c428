import { type SharedSettings, StoreError } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { decodeText, encodeText } from "../database/text.ts";
import { inSchema, type Names } from "../schema/names.ts";

const GET = "SELECT version, text FROM $.settings WHERE id = 1";
const PUT_FIRST = "INSERT INTO $.settings VALUES (1, 1, $1) ON CONFLICT DO NOTHING RETURNING version";
const PUT =
  "UPDATE $.settings SET version = version + 1, text = $1 WHERE id = 1 AND version = $2 RETURNING version";

/** Settings that the processes share: one text, with a version. */
export class SettingsTable implements SharedSettings {
  readonly #connections: () => Connections;
  readonly #names: Names;
  readonly #changed: (version: number) => void;
  readonly #listeners = new Set<(version: number) => void>();
  /** The version that was read, or put, last; 0 without settings. */
  #known = 0;

  /** @param changed Tells the other processes. */
  constructor(connections: () => Connections, names: Names, changed: (version: number) => void) {
    this.#connections = connections;
    this.#names = names;
    this.#changed = changed;
  }

  async get(): Promise<{ readonly version: number; readonly text: string } | undefined> {
    const [row] = await this.#query<{ version: number; text: string }>(GET, []);
    this.#known = row?.version ?? 0;
    if (row === undefined) return undefined;
    return { version: row.version, text: decodeText(row.text) };
  }

  async put(version: number, text: string): Promise<number> {
    const [row] =
      version === 0
        ? await this.#query<{ version: number }>(PUT_FIRST, [encodeText(text)])
        : await this.#query<{ version: number }>(PUT, [encodeText(text), version]);
    if (row === undefined) {
      throw new StoreError(
        "ERR_STORE_CHANGED",
        "Another process has changed the settings meanwhile. Read them again.",
      );
    }
    this.#known = row.version;
    this.#changed(row.version);
    return row.version;
  }

  watch(listener: (version: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * The settings have this version, as another process or a heartbeat says. It is known once it is read, so that the next
   * heartbeat has it read again if that fails. It may be older than the one that is known, where the database lacks the last changes.
   */
  heard(version: number): void {
    if (version === this.#known) return;
    for (const listener of this.#listeners) listener(version);
  }

  #query<Row>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#connections().query<Row>("control", { text: inSchema(this.#names, sql) }, values);
  }
}
