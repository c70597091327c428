import { StoreError } from "@countersign/sender/store";
import type { Connections, Run } from "../database/connections.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";
import { inSchema, type Names } from "./names.ts";

/** What the statements need. */
const OLDEST_SERVER = 140_000;

/** How long a change waits for what reads a table, as a backup: not as long as for an answer, so that there is one. */
const LOCK_WAIT = "4s";

/** How long a step may take, in milliseconds: an index of what was kept for weeks takes longer to make than an answer may. */
const STEP_MS = 3_600_000;

/** The same for all steps together, also on connections of others, which may have a limit from PostgreSQL 17 on. */
const NO_TRANSACTION_TIMEOUT = `SELECT set_config('transaction_timeout', '0', true)
  WHERE current_setting('transaction_timeout', true) IS NOT NULL`;

/** Two processes that start at once must not both create the tables. */
const LOCK = 4_353_444_401;

/**
 * Brings the schema to the present version, one step after the other. Each is a transaction of its own, so that what it locks is
 * free again before the next one. One that fails leaves the schema as it was before that step.
 *
 * @param steps Each takes the schema from the version of its position to the next.
 * @returns how often it was opened before
 * @throws StoreError `ERR_STORE_NEWER` when a newer version of this package changed it so that this one cannot use it
 */
export async function migrate(
  connections: Connections,
  names: Names,
  steps: readonly Migration[] = MIGRATIONS,
): Promise<{ readonly generation: number }> {
  for (;;) {
    const generation = await connections.transaction("control", (run) => takeStep(run, names, steps));
    if (generation !== undefined) return { generation };
  }
}

/**
 * Takes the next step, or all of them where there is nothing yet, and so nobody who waits. When none is left, counts that the schema
 * is opened, and returns how often it was before.
 */
async function takeStep(run: Run, names: Names, steps: readonly Migration[]): Promise<number | undefined> {
  await assertServer(run);
  await run(`SET LOCAL lock_timeout = '${LOCK_WAIT}'`);
  await run("SELECT pg_advisory_xact_lock($1)", [LOCK]);
  // The server asks for the privilege to create a schema also where IF NOT EXISTS would find it.
  const [found] = await run<{ there: boolean }>("SELECT to_regnamespace($1) IS NOT NULL AS there", [
    names.schema,
  ]);
  if (found?.there !== true) await run(`CREATE SCHEMA IF NOT EXISTS ${names.schema}`);
  await run(
    inSchema(names, "CREATE TABLE IF NOT EXISTS $.meta (key text PRIMARY KEY, value bigint NOT NULL)"),
  );
  const version = await valueOf(run, names, "version");
  assertKnown(version, await valueOf(run, names, "works_with"), steps.length);
  const next = version === 0 ? steps : steps.slice(version, version + 1);
  const last = next.at(-1);
  if (last === undefined) {
    const generation = await valueOf(run, names, "opened");
    await put(run, names, "opened", generation + 1);
    return generation;
  }
  await run(`SET LOCAL statement_timeout = ${STEP_MS}`);
  await run(NO_TRANSACTION_TIMEOUT);
  for (const { sql } of next) await run(inSchema(names, sql), [], STEP_MS);
  await put(run, names, "version", version + next.length);
  await put(run, names, "works_with", last.worksWith);
  return undefined;
}

async function assertServer(run: Run): Promise<void> {
  const [server] = await run<{ version: number; encoding: string; forgets: boolean; locked: boolean }>(
    `SELECT current_setting('server_version_num')::int AS version, getdatabaseencoding() AS encoding,
     current_setting('synchronous_commit') = 'off' AS forgets,
     current_setting('transaction_read_only')::boolean AND NOT pg_is_in_recovery() AS locked`,
  );
  const { version = OLDEST_SERVER, encoding = "UTF8", forgets = false, locked = false } = server ?? {};
  if (version < OLDEST_SERVER) {
    const text = `The server has the version ${version} (server_version_num). PostgreSQL 14 or later is needed.`;
    throw new StoreError("ERR_STORE_OPEN", text);
  }
  // A standby may become the primary. This stays until somebody changes it.
  if (locked) {
    throw new StoreError(
      "ERR_STORE_READ_ONLY",
      "The database is no standby, and its transactions are read-only: default_transaction_read_only is on for the user, the database or the server, or in the options of the URL. Turn it off, or use a user who may write.",
    );
  }
  // Our own connections are set otherwise; those of a pool or a pooler are not.
  if (forgets) {
    throw new StoreError(
      "ERR_STORE_OPEN",
      "synchronous_commit is off for the user, the database, the server or the pool, so a crash of the database could lose calls that were accepted. Set it to on or local, as with ALTER ROLE ... SET synchronous_commit = on.",
    );
  }
  // With SQL_ASCII, which holds every text, the database counts bytes where this store counts characters.
  if (encoding === "UTF8") return;
  throw new StoreError(
    "ERR_STORE_OPEN",
    `The encoding of the database is ${encoding}, and the store needs UTF8. Use a database that was created with ENCODING 'UTF8' TEMPLATE template0.`,
  );
}

function assertKnown(version: number, worksWith: number, known: number): void {
  if (worksWith <= known) return;
  throw new StoreError(
    "ERR_STORE_NEWER",
    `The schema has version ${version}, which needs a version of @countersign/postgres that knows ${worksWith}; this one knows ${known}. Upgrade it.`,
  );
}

/** 0 for what was never put. */
async function valueOf(run: Run, names: Names, key: string): Promise<number> {
  const [row] = await run<{ value: number }>(inSchema(names, "SELECT value FROM $.meta WHERE key = $1"), [
    key,
  ]);
  return row?.value ?? 0;
}

async function put(run: Run, names: Names, key: string, value: number): Promise<void> {
  const sql = "INSERT INTO $.meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
  await run(inSchema(names, sql), [key, value]);
}
