import type { Claim, DedupeStore } from "@countersign/core";
import { sharedDedupe } from "@countersign/core/shared-dedupe";
import {
  checkOptionNames,
  codeOf,
  parseDuration,
  LEASE_SYNONYMS,
  TIMEOUT_SYNONYMS,
  TTL_SYNONYMS,
  type Duration,
  type OptionNames,
} from "@countersign/protocol";
import { breaksConnection } from "../database/postgres-error.ts";
import {
  checkPool,
  giveBack,
  takeFrom,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
} from "../database/postgres-pool.ts";
import { within } from "../database/within.ts";

/** Options of {@link postgresDedupe}. */
export interface PostgresDedupeOptions {
  /** How long a handled delivery is remembered. Default: `"5h"`; the sender repeats a delivery for 4 hours (spec 7). */
  readonly ttl?: Duration | undefined;
  /**
   * How long a receiver's claim on a delivery lasts. If that receiver dies, a repeat is handled after this time. It must be
   * longer than your handler takes. Default: `"1m"`.
   */
  readonly lease?: Duration | undefined;
  /**
   * The table, which is created when it does not exist: `name` or `schema.name`. Give each endpoint its own: endpoints that get
   * the same messages must not share keys. Default: `"countersign_handled"`.
   */
  readonly table?: string | undefined;
  /**
   * How long the database may take to answer. Afterwards the request fails with 500 and the sender repeats it. Default:
   * `"2s"`; the sender waits 5 seconds for your answer (spec 4.1).
   */
  readonly timeout?: Duration | undefined;
}

const OPTION_NAMES: OptionNames<PostgresDedupeOptions> = {
  ttl: TTL_SYNONYMS,
  lease: LEASE_SYNONYMS,
  table: ["tablename"],
  timeout: TIMEOUT_SYNONYMS,
};

/** How often rows that are over are removed, in milliseconds. */
const SWEEP_MS = 60_000;

/** Removed with one command, so that no claim waits for long. */
const FEW = 1_000;

/** What PostgreSQL answers when a table does not exist. */
const NO_TABLE = "42P01";

/** What it answers when another creates it at the same moment: what of it was found first, the table, its type, or a row of the catalogue. */
const CREATED_MEANWHILE: ReadonlySet<string | undefined> = new Set(["42P07", "42710", "23505"]);

/** What it answers to the later of two that claim one key at once, where a role or a database isolates transactions more strictly. */
const CLAIMED_MEANWHILE = "40001";

/** The value of a row whose delivery was handled. The row of a claim has a token instead. */
const DONE = "done";

/** All that is read of an answer is text. The parsers of the driver are the whole app's, and it may have replaced them. */
const TEXTS: NonNullable<PostgresQuery["types"]> = { getTypeParser: () => String };

/** The values of a command, which may need to know how many milliseconds are left until nobody waits for its answer. */
type Values = (leftMs: number) => readonly unknown[];

/**
 * A {@link DedupeStore} in PostgreSQL: receivers on many machines share their handled deliveries, so that a repeat
 * runs the handler once, whichever machine gets it. Each step is one round trip, and times are the database's.
 *
 * @param pool - A pool of node-postgres 8: `new pg.Pool()`. You open and close it.
 * @param options - Times and the table.
 * @throws TypeError if the pool is not one, or an option is unknown or wrong.
 * @example
 * ```ts
 * import { verifyWebhook } from "@countersign/express";
 * import { postgresDedupe } from "@countersign/postgres/dedupe";
 * import pg from "pg";
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * pool.on("error", (error) => console.warn(error.message));
 * app.post("/webhooks", verifyWebhook({ secret, dedupe: postgresDedupe(pool) }), handler);
 * ```
 */
export function postgresDedupe(pool: PostgresPool, options: PostgresDedupeOptions = {}): DedupeStore {
  checkPool("postgresDedupe(pool, options)", pool);
  checkOptionNames("postgresDedupe(pool, options)", options, OPTION_NAMES);
  const table = quoteTable(options.table ?? "countersign_handled");
  const ttl = milliseconds("ttl", options.ttl ?? "5h");
  const lease = milliseconds("lease", options.lease ?? "1m");
  const timeout = milliseconds("timeout", options.timeout ?? "2s");
  const sql = statementsFor(table);
  let sweptAt = performance.now();

  /** The table is created when it is missing, and not before: its user need not have the privilege to create tables. */
  async function ask(text: string, values: Values): Promise<readonly unknown[]> {
    try {
      return await query(pool, text, values, timeout);
    } catch (error) {
      // Asked again, it sees what the other has stored.
      if (codeOf(error) === CLAIMED_MEANWHILE) return query(pool, text, values, timeout);
      if (codeOf(error) !== NO_TABLE) throw error;
    }
    await query(pool, sql.create, () => [], timeout).catch((error: unknown) => {
      if (!CREATED_MEANWHILE.has(codeOf(error))) throw error;
    });
    return query(pool, text, values, timeout);
  }

  /** Beside a claim, so that a store that is not used costs nothing. A failure is the next one's to repair. */
  function sweep(): void {
    if (performance.now() - sweptAt < SWEEP_MS) return;
    sweptAt = performance.now();
    removeAll().catch(() => {});
  }

  /** More may come in the time until the next sweep than one command removes. */
  async function removeAll(): Promise<void> {
    let removed: readonly unknown[];
    do removed = await ask(sql.sweep, () => []);
    while (removed.length === FEW);
  }

  return sharedDedupe(
    {
      async claim(key, token) {
        const [row] = await ask(sql.claim, (leftMs) => [key, token, lease, leftMs]);
        sweep();
        return claimOf(row, token);
      },
      commit: async (key) => void (await ask(sql.commit, () => [key, ttl])),
      release: async (key, token) => void (await ask(sql.release, () => [key, token])),
    },
    lease,
  );
}

interface Statements {
  readonly create: string;
  readonly claim: string;
  readonly commit: string;
  readonly release: string;
  readonly sweep: string;
}

/** The time after as many milliseconds as a parameter says, by the database's clock. */
function until(parameter: string): string {
  return `clock_timestamp() + make_interval(secs => ${parameter}::float8 / 1000)`;
}

/** Whether a command runs within the milliseconds of `$4` after it came. Only now() tells when that was, also after a wait for the table. */
const IN_TIME = "clock_timestamp() < now() + make_interval(secs => $4::float8 / 1000)";

function statementsFor(table: string): Statements {
  return {
    // In the order of another collation, which an upgrade of the system may change, its index would not find keys again.
    create: `CREATE TABLE IF NOT EXISTS ${table} (key text COLLATE "C" PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL)`,
    // The holder after the claim: the token of this claim, of another one, or that it was handled. One that waits for a lock until nobody
    // waits for its answer takes nothing: what was sent to release it may have been done before. What it waits for is the table, before
    // all else, or another claim.
    claim: `WITH waits AS (SELECT set_config('lock_timeout', greatest(ceil($4::float8), 1)::text, true) AS value),
      taken AS (
        INSERT INTO ${table} AS t (key, holder, until)
        SELECT $1::text, $2::text, ${until("$3")} FROM waits WHERE value IS NOT NULL AND ${IN_TIME}
        ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, until = excluded.until
          WHERE t.until < clock_timestamp()
        RETURNING holder)
      SELECT coalesce((SELECT holder FROM taken), (SELECT holder FROM ${table} WHERE key = $1)) AS holder`,
    commit: `INSERT INTO ${table} (key, holder, until) VALUES ($1, '${DONE}', ${until("$2")})
      ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, until = excluded.until`,
    release: `DELETE FROM ${table} WHERE key = $1 AND holder = $2`,
    // The time is compared again for each row: a claim may have taken it over since it was found.
    sweep: `DELETE FROM ${table} WHERE until < clock_timestamp()
      AND key IN (SELECT key FROM ${table} WHERE until < clock_timestamp() LIMIT ${FEW})
      RETURNING true`,
  };
}

/** A row that another command has changed at the same moment is not seen: it is being handled. */
function claimOf(row: unknown, token: string): Claim {
  const { holder } = row as { readonly holder: string | null };
  if (holder === token) return "new";
  return holder === DONE ? "done" : "in-flight";
}

/** @throws Error when the database does not answer in time: a webhook cannot wait for longer */
async function query(
  pool: PostgresPool,
  text: string,
  values: Values,
  timeoutMs: number,
): Promise<readonly unknown[]> {
  const until = performance.now() + timeoutMs;
  let client: PostgresClient | undefined;
  let isLate = false;
  const run = async (): Promise<readonly unknown[]> => {
    const connected = await takeFrom(pool);
    if (isLate) {
      giveBack(connected);
      return [];
    }
    client = connected;
    let isBroken = false;
    try {
      const given = [...values(until - performance.now())];
      return (await connected.query({ text, values: given, types: TEXTS })).rows;
    } catch (error) {
      isBroken = breaksConnection(error);
      throw error;
    } finally {
      // One that was late has been dropped already.
      if (!isLate) giveBack(connected, isBroken);
    }
  };
  return within(timeoutMs, run(), () => {
    isLate = true;
    // Its answer may never come, and until then the pool would be short of this connection.
    if (client !== undefined) giveBack(client, true);
    return new Error(
      `postgresDedupe: PostgreSQL did not answer within ${timeoutMs} ms. Check that it is running.`,
    );
  });
}

function milliseconds(name: keyof PostgresDedupeOptions, value: Duration): number {
  const ms = parseDuration(value, `postgresDedupe({ ${name} })`);
  if (ms > 0) return ms;
  throw new TypeError(`postgresDedupe({ ${name} }) must be longer than 0.`);
}

function quoteTable(table: string): string {
  if (typeof table === "string" && /^[A-Za-z_]\w{0,62}(?:\.[A-Za-z_]\w{0,62})?$/u.test(table)) {
    return table
      .split(".")
      .map((part) => `"${part}"`)
      .join(".");
  }
  throw new TypeError(
    `postgresDedupe({ table }) must be a name such as handled or public.handled, not ${JSON.stringify(table)}.`,
  );
}
