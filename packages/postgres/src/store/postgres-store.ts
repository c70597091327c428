import {
  checkOptionNames,
  parseDuration,
  LEASE_SYNONYMS,
  URL_SYNONYMS,
  type Duration,
  type OptionHints,
  type OptionNames,
} from "@countersign/protocol";
import {
  type DeliveryStore,
  type SharedSettings,
  StoreError,
  type StoreContext,
} from "@countersign/sender/store";
import { Connections } from "../database/connections.ts";
import { isConflict } from "../database/postgres-error.ts";
import { failureOf, mayPass, storeErrorOf, throwOfRead } from "../database/store-errors.ts";
import type { PostgresPool } from "../database/postgres-pool.ts";
import { UnderWay } from "../database/under-way.ts";
import { migrate } from "../schema/migrate.ts";
import { namesOf } from "../schema/names.ts";
import { SettingsTable } from "../tables/settings-table.ts";
import { listSkipped } from "../tables/skipped-log.ts";
import { readCounts, readUsage } from "../tables/tallies.ts";
import { readTrait } from "../tables/trait-table.ts";
import { OpenStore } from "./open-store.ts";
import { parseWhere } from "./parse-where.ts";

/** Where and how a {@link postgresStore} keeps deliveries. */
export interface PostgresStoreOptions {
  /** URL of the database: `postgres://user:password@host:5432/database`. Either this or `pool`. */
  readonly url?: string | undefined;
  /**
   * A pool of node-postgres, with at least 7 connections, each with a `statement_timeout` of 5.5 seconds, and a
   * `synchronous_commit` that is not `off`. You open and close it. Either this or `url`.
   */
  readonly pool?: PostgresPool | undefined;
  /** Name of the schema of the tables. It is created when it does not exist. Default: `"countersign"`. */
  readonly schema?: string | undefined;
  /**
   * How long a dead process keeps its claims, at least 1 second. A process that does not reach the database
   * for this time loses its claims. Default: `"10s"`.
   */
  readonly lease?: Duration | undefined;
  /** How long ended deliveries are kept. Whole days are removed, so up to a day longer. Default: `"7d"`. */
  readonly keep?: Duration | undefined;
  /** For how long opening tries again while the database is unreachable. Default: `"1m"`. */
  readonly openWithin?: Duration | undefined;
}

const OPTION_NAMES: OptionNames<PostgresStoreOptions> = {
  url: URL_SYNONYMS,
  pool: true,
  schema: ["namespace"],
  lease: LEASE_SYNONYMS,
  keep: ["keepfor retention ttl maxage", 'in milliseconds, or text such as "7d"'],
  openWithin: ["connecttimeout connectiontimeout"],
};
const OPTION_HINTS: OptionHints = {
  client: "it takes a pool, since it needs several connections",
};

const SHORTEST_LEASE_MS = 1_000;
const LONGEST_LEASE_MS = 86_400_000;
const RETRY_MS = 250;

/**
 * Keeps deliveries in PostgreSQL (14 or later), for senders in any number of processes, on any number of machines.
 *
 * An accepted call survives a kill of any of them at any instant. Each process uses 7 connections, whatever the number of
 * destinations. `concurrency` of a destination applies to all processes together.
 *
 * @throws TypeError when an option is not valid. Opening happens in `createSender`, which throws a StoreError.
 * @example
 * ```ts
 * import { postgresStore } from "@countersign/postgres";
 * import { createSender } from "@countersign/sender";
 *
 * const store = postgresStore({ url: process.env.DATABASE_URL });
 * const sender = await createSender({ url: "https://example.com/hooks", secret: "secret", store });
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): DeliveryStore {
  checkOptionNames("postgresStore()", options, OPTION_NAMES, OPTION_HINTS);
  const where = parseWhere(options);
  const names = namesOf(parseSchema(options.schema ?? "countersign"));
  const leaseMs = parseLease(options.lease ?? "10s");
  const keepMs = parseDuration(options.keep ?? "7d", "postgresStore({ keep })");
  const openWithinMs = parseDuration(options.openWithin ?? "1m", "postgresStore({ openWithin })");
  let opened: OpenStore | undefined;
  let isClosed = false;
  let opening: Promise<unknown> | undefined;
  let closing: Promise<void> | undefined;

  const store = (): OpenStore => {
    if (opened !== undefined && !isClosed) return opened;
    throw new StoreError(
      "ERR_STORE_CLOSED",
      "The store is not open: createSender() opens it, and close() closes it.",
    );
  };
  const connections = (): Connections => store().connections;
  const table = new SettingsTable(connections, names, (version) =>
    opened?.bulletin.tell({ settings: version }),
  );
  /** Until when what belongs to opening is tried again, by `performance.now()`. */
  let openUntil = Number.NEGATIVE_INFINITY;

  async function openOnce(context: StoreContext): Promise<{ readonly generation: number }> {
    const made = new Connections(where);
    try {
      const { generation } = await migrate(made, names);
      const next = new OpenStore({ connections: made, names, context, leaseMs, keepMs, settings: table });
      await next.start();
      opened = next;
      return { generation };
    } catch (error) {
      await made.close().catch(() => {});
      throw error;
    }
  }

  async function whileOpening<T>(action: () => Promise<T>, failed?: (error: StoreError) => void): Promise<T> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const isOver = isClosed || performance.now() >= openUntil;
        if (isOver || !(mayPass(error) || isConflict(error))) throw error;
        failed?.(failureOf(error));
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async function open(context: StoreContext): Promise<{ readonly generation: number }> {
    if (opened !== undefined || isClosed) {
      throw new StoreError("ERR_STORE_CLOSED", "A store can be opened only once. Create a new one.");
    }
    openUntil = performance.now() + openWithinMs;
    const trying = whileOpening(
      () => openOnce(context),
      ({ message: reason }) => context.stateChanged({ state: "down", reason }),
    ).catch((error: unknown) => {
      throw failureOf(error);
    });
    opening = trying.catch(() => {});
    const result = await trying;
    if (isClosed) throw new StoreError("ERR_STORE_CLOSED", "The store was closed while it was being opened.");
    return result;
  }

  const underWay = new UnderWay();
  const ended = <T>(result: T): T => {
    underWay.end();
    return result;
  };
  const failed = (error: unknown): never => {
    underWay.end();
    throw error instanceof TypeError ? error : storeErrorOf(error);
  };
  /**
   * What the driver throws becomes a rejection with a StoreError; a TypeError, as about a cursor, stays one. What was begun may
   * end before the store closes. Not an async function: of those, each call that waits would keep five objects more.
   */
  const attempt = <T>(action: () => Promise<T>): Promise<T> => {
    underWay.begin();
    let result: Promise<T>;
    try {
      result = action();
    } catch (error) {
      result = Promise.reject(error);
    }
    return result.then(ended, failed);
  };

  /** Opening ends when the settings are watched. From then on, the heartbeats tell that the database is away. */
  const settings: SharedSettings = {
    get: () =>
      attempt(() =>
        whileOpening(() => table.get()).catch((error: unknown) => throwOfRead(error, "settings")),
      ),
    put: (version, text) => attempt(() => whileOpening(() => table.put(version, text))),
    watch(listener) {
      openUntil = Number.NEGATIVE_INFINITY;
      return table.watch(listener);
    },
  };

  return {
    open,
    accept: (acceptance) => attempt(() => store().accept(acceptance)),
    repeat: (id, next, source) => attempt(() => store().repeat(id, next, source)),
    hasten: (id, source) => attempt(() => store().hasten(id, source)),
    hastenAll: (deliveries, dueAt) => attempt(() => store().hastenAll(deliveries, dueAt)),
    remove: (filter) => attempt(() => store().remove(filter)),
    consume: (destination, concurrency, handler) => store().consume(destination, concurrency, handler),
    find: (id, source) => attempt(() => store().log.find(id, source)),
    list: (filter, order) => attempt(() => store().log.list(filter, order)),
    count: (filter) => attempt(() => store().log.count(filter)),
    skipped: (filter) => attempt(() => listSkipped(connections(), names, filter)),
    counts: () => attempt(() => readCounts(connections(), names)),
    usage: () => attempt(() => readUsage(connections(), names)),
    traits: (source, trait, destinations) =>
      attempt(() => readTrait(connections(), names, { source, trait, destinations })),
    take: (part) => attempt(() => store().take(part)),
    settings,
    async close() {
      isClosed = true;
      closing ??= Promise.all([opening, underWay.ended()]).then(() => opened?.close());
      await closing;
    },
  };
}

/** A name that needs no care in tools: it is part of names of channels, too, which have 63 characters. */
function parseSchema(schema: string): string {
  if (typeof schema === "string" && /^[a-z_][a-z0-9_]{0,39}$/u.test(schema)) return schema;
  throw new TypeError(
    `postgresStore({ schema }) must be 1 to 40 lower-case letters, digits and underscores, not ${JSON.stringify(schema)}.`,
  );
}

function parseLease(lease: Duration): number {
  const ms = parseDuration(lease, "postgresStore({ lease })");
  if (ms >= SHORTEST_LEASE_MS && ms <= LONGEST_LEASE_MS) return ms;
  throw new TypeError('postgresStore({ lease }) must be from "1s" to "1d".');
}
