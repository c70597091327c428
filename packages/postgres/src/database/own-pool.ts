import pg from "pg";
import { hasEnded } from "./postgres-pool.ts";
import { RESULT_TYPES } from "./result-types.ts";
import { SERVER_START } from "./server-start.ts";
import { ANSWER_MS, ENDS_WITHIN_MS } from "./within.ts";

/** What a connection is set to. */
type Settings = Readonly<Record<string, string>>;

/**
 * Filters over many deliveries are estimated to cost so much that the server compiles them, which takes longer than reading.
 * A command that nobody waits for any more ends on the server, too, soon after its connection was dropped.
 *
 * The others are the server's own, which a role may have otherwise. Commands are written for transactions that see what others
 * have committed meanwhile: in stricter ones they are sent again whenever two processes meet. A NULL in an array is no text. Functions are the
 * server's own: one of another user, such as unnest(text[]) in public, would be called with this user's privileges. And a
 * transaction may wait for locks, and change the tables, for longer than others may take.
 */
export const READ_SETTINGS: Settings = {
  jit: "off",
  statement_timeout: String(ANSWER_MS + ENDS_WITHIN_MS),
  default_transaction_isolation: "read committed",
  array_nulls: "on",
  search_path: "pg_catalog",
  transaction_timeout: "0",
};

/**
 * Compiling a plan takes longer than running these commands, and so does planning them. A plan that is kept must be as good
 * for a million pending deliveries as for the few that there were when it was made: for each that a command names, it asks
 * the index of the key.
 */
export const SETTINGS: Settings = {
  ...READ_SETTINGS,
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  enable_material: "off",
  enable_sort: "off",
  enable_memoize: "off",
};

/** A connection that listens says nothing for longer than others may. */
export const LISTEN_SETTINGS: Settings = { idle_session_timeout: "0" };

/** What was accepted is on the disk. Whether standbys have it, too, a role may decide otherwise. */
const ON_DISK =
  "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'local', false) END";

/**
 * SQL that sets a connection, and answers one row: with the start of its server. If another process than `pid` serves the connection,
 * it sets nothing, and answers none: a pooler tells a number of its own, and would pass what is set on to other programs. A setting that
 * the server is too old for is left out.
 */
export function setupSql(settings: Settings, pid: number | null): string {
  const set = Object.entries(settings).map(
    ([name, value]) =>
      `CASE WHEN current_setting('${name}', true) IS NOT NULL THEN set_config('${name}', '${value}', false) END`,
  );
  return `SELECT ${[...set, ON_DISK].join(", ")}, ${SERVER_START} AS server WHERE pg_backend_pid() = ${pid ?? "NULL"}`;
}

/** How the connections of a pool are set. */
interface Setup {
  readonly settings: Settings;
  /** One could not be set, as behind a pooler. */
  readonly notSet: () => void;
}

/**
 * A connection that cannot be made fails for whoever asked for it. Where the driver cannot hash a password, as without MD5 on a machine in
 * FIPS mode, it tells that to nobody, which would end the process.
 */
class HeardClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const fail = (error: Error): void => void this.connection.stream.destroy(error);
    this.on("error", fail);
    this.once("connect", () => this.off("error", fail));
  }
}

/** A pool of connections that nobody else uses. */
export function ownPool(url: string | undefined, max: number, setup?: Setup): pg.Pool {
  const pool = new pg.Pool({
    Client: HeardClient,
    connectionString: url,
    max,
    connectionTimeoutMillis: ANSWER_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    application_name: "countersign",
  });
  // A connection that breaks while it is unused is replaced by the next command.
  pool.on("error", () => {});
  if (setup !== undefined)
    pool.on(
      "connect",
      (client) => void setUp(client, setup).catch((error: unknown) => hasEnded(client, error)),
    );
  return pool;
}

const servers = new WeakMap<object, number>();

/** The server that a connection leads to, by its start; undefined where that is not known, as behind a pooler. */
export function serverOf(client: object): number | undefined {
  return servers.get(client);
}

/** The driver has the number, and its types do not. */
type WithProcess = pg.PoolClient & { readonly processID?: number | null };

async function setUp(client: WithProcess, { settings, notSet }: Setup): Promise<void> {
  const text = setupSql(settings, client.processID ?? null);
  const [row] = (await client.query<{ server: number }>({ text, types: RESULT_TYPES })).rows;
  if (row === undefined) notSet();
  else servers.set(client, row.server);
}
