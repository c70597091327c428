import {
  parseDuration,
  checkOptionNames,
  KEEP_FOR_SYNONYMS,
  MAX_BYTES_SYNONYMS,
  type Duration,
  type OptionNames,
} from "@countersign/protocol";
import type Database from "libsql";
import type { DeliveryStore } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import { LEAST_BYTES, MAX_BYTES_IN_MEMORY } from "./byte-limits.ts";
import { filePathOf } from "./file-path.ts";
import { loadLibsql } from "./load-libsql.ts";
import { LogFile } from "./log-file.ts";
import { MEMORY_PATH, openDatabase } from "./open-database.ts";
import { OpenStore, type OpenStoreOptions } from "./open-store.ts";
import { releaseNativeHandles } from "./release-native-handles.ts";
import { closedError, notLoaded, storeErrorOf } from "./sqlite-error.ts";

/** Where and how a {@link sqliteStore} keeps deliveries. */
export interface SqliteStoreOptions {
  /** Path of the file; it is created when it does not exist, with its folder. Default: `":memory:"`. */
  readonly path?: string | undefined;
  /** How long ended deliveries are kept. Pending ones are kept until they end. Default: `"7d"`. */
  readonly keepFor?: Duration | undefined;
  /**
   * Largest size of the file in bytes, or of the memory. To make room, the oldest data is removed early: ended deliveries,
   * skipped calls, and the keys of repeats, so that a repeat may be delivered again. When pending deliveries fill four fifths
   * of it, calls are refused with `ERR_STORE_FULL`, and fewer attempts are logged, until some have ended. The write-ahead log
   * beside the file is not part of it: it usually takes less than 16 MB, and more while another program reads the file. Default: no limit
   * for a file, 1,000,000,000 in memory, which is the most there.
   */
  readonly maxBytes?: number | undefined;
}

const OPTION_NAMES: OptionNames<SqliteStoreOptions> = {
  path: ["file filename db database"],
  keepFor: KEEP_FOR_SYNONYMS,
  maxBytes: MAX_BYTES_SYNONYMS,
};

const DEFAULT_KEEP_FOR: Duration = "7d";

/**
 * Keeps deliveries in an SQLite file of its own (libsql; WAL, group commit), for one sender at a time.
 *
 * An accepted call survives a kill and a power cut at any instant: when a sender opens the file again, pending deliveries continue. A call
 * waits for the disk, and the process does not. The files have mode 0600, and folders that it creates 0700.
 *
 * @throws TypeError when an option is not valid. Opening happens in `createSender`, which throws a StoreError.
 * @example
 * ```ts
 * const sender = await createSender({ url, store: sqliteStore({ path: "data/deliveries.db" }) });
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions = {}): DeliveryStore {
  checkOptionNames("sqliteStore()", options, OPTION_NAMES);
  const path = parsePath(options.path ?? MEMORY_PATH);
  const keepForMs = parseDuration(options.keepFor ?? DEFAULT_KEEP_FOR, "sqliteStore({ keepFor })");
  const maxBytes = parseMaxBytes(options.maxBytes, path);
  let state: "new" | OpenStore | "closed" = "new";

  const opened = (): OpenStore => {
    if (typeof state === "object") return state;
    throw closedError(path);
  };

  const assertNew = (): void => {
    if (state !== "new")
      throw new StoreError("ERR_STORE_CLOSED", "A store can be opened only once. Create a new one.");
  };

  /** Uses the open store. What SQLite throws becomes a rejection with a StoreError. */
  const use = async <T>(action: (store: OpenStore) => T | Promise<T>): Promise<T> => {
    try {
      return await action(opened());
    } catch (error) {
      throw storeErrorOf(error, path);
    }
  };

  return {
    async open(context) {
      try {
        const libsql = await loadLibsql<typeof Database>(notLoaded(path));
        assertNew();
        const { db, unlock, generation } = openDatabase(path, libsql);
        // Nobody waits for what fails while it sweeps or looks for what is due, so nothing else makes a StoreError of it.
        const failed = (error: Error): void => context.failed(storeErrorOf(error, path));
        const parts = { path, keepForMs, maxBytes, context: { ...context, failed }, unlock };
        state = await openOn(db, parts, assertNew);
        context.stateChanged({ state: "up" });
        return { generation };
      } catch (error) {
        const refusal = storeErrorOf(error, path);
        // A file that cannot be used is moved away, which some systems refuse while it is open.
        if (path !== MEMORY_PATH) await releaseNativeHandles();
        throw refusal;
      }
    },
    // At once where it is open: a promise more costs each call.
    accept: (acceptance) =>
      typeof state === "object" ? state.accept(acceptance) : use((store) => store.accept(acceptance)),
    repeat: (id, next) => use((store) => store.repeat(id, next)),
    consume: (destination, concurrency, handler) => opened().lanes.consume(destination, concurrency, handler),
    find: (id) => use(({ search }) => search.find(id)),
    list: (filter, order) => use(({ search }) => search.list(filter, order)),
    count: (filter) => use(({ search }) => search.count(filter)),
    skipped: (filter) => use(({ calls }) => calls.skipped(filter)),
    hasten: (id) => use((store) => store.hasten(id)),
    hastenAll: (deliveries, dueAt) => use((store) => store.hastenAll(deliveries, dueAt)),
    remove: (filter) => use((store) => store.remove(filter)),
    counts: () => use(({ counter }) => counter.counts()),
    usage: () => use(({ profiles }) => profiles.usage()),
    space: () => use(({ room }) => room?.space()),
    traits: (source, trait, destinations) =>
      use(({ profiles }) => profiles.traits(source, trait, destinations)),
    async close() {
      const closing = typeof state === "object" ? state.close() : undefined;
      state = "closed";
      await closing;
      // Nothing refers to the open store any more, so that its statements can be collected.
      if (closing !== undefined && path !== MEMORY_PATH) await releaseNativeHandles();
    },
  };
}

/** @param assertNew Throws if the store was closed meanwhile. */
async function openOn(
  db: Database.Database,
  options: Omit<OpenStoreOptions, "log">,
  assertNew: () => void,
): Promise<OpenStore> {
  const { path, unlock } = options;
  let log: LogFile | undefined;
  try {
    log = path === MEMORY_PATH ? undefined : await LogFile.open(db, path);
    assertNew();
    return new OpenStore(db, { ...options, log });
  } catch (error) {
    // As when a table is missing. The lock would be taken for that of another sender.
    await log?.close();
    db.close();
    unlock();
    throw error;
  }
}

function parsePath(path: string): string {
  if (path === MEMORY_PATH) return path;
  return filePathOf(path, 'sqliteStore({ path }) must be the path of a file, or ":memory:"');
}

function parseMaxBytes(maxBytes: number | undefined, path: string): number | undefined {
  const isInMemory = path === MEMORY_PATH;
  if (maxBytes === undefined) return isInMemory ? MAX_BYTES_IN_MEMORY : undefined;
  if (!Number.isInteger(maxBytes) || maxBytes < LEAST_BYTES)
    throw new TypeError(
      `sqliteStore({ maxBytes }) must be a whole number of bytes, at least ${LEAST_BYTES}.`,
    );
  if (isInMemory && maxBytes > MAX_BYTES_IN_MEMORY)
    throw new TypeError(
      `sqliteStore({ maxBytes }) must be at most ${MAX_BYTES_IN_MEMORY} in memory. A file can be larger: give its path.`,
    );
  return maxBytes;
}
