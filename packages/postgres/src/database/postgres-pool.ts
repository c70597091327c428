import { checkPort } from "@countersign/protocol";
import { breaksConnection, sqlStateOf } from "./postgres-error.ts";

/** The methods that are used of a connection of node-postgres. */
export interface PostgresClient {
  query(
    config: PostgresQuery,
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
  on(event: "notification", listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  /** Of a connection that is another object each time it is taken, as where one is wrapped: without it, listeners gather. */
  off?(event: "error", listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
}

/** A command, as node-postgres takes it. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  readonly name?: string;
  readonly types?: { getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown };
}

/** A pool of node-postgres 8: `new pg.Pool()`. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  /** How many connections nobody uses, where the pool counts them. */
  readonly idleCount?: number;
  /** Of a pool that has events: `acquire` is that of a connection that somebody takes. */
  on?(event: "acquire", listener: (client: PostgresClient) => void): unknown;
}

/**
 * Checks that something is a pool, and hears its connections from now on: the app may use some before they are used here. A client of
 * node-postgres has `connect`, too, and would fail at the first command, in a listener: that ends the process.
 *
 * @param what - Its name in the error.
 * @throws TypeError if it is not one
 */
export function checkPool(what: string, pool: PostgresPool): void {
  checkPort(what, pool, ["connect"]);
  if (typeof (pool as { readonly escapeLiteral?: unknown }).escapeLiteral === "function")
    throw new TypeError(`${what} must be a pool, new pg.Pool(), and not a client.`);
  hearConnections(pool);
}

/** Pools whose connections are heard. */
const heard = new WeakSet<PostgresPool>();

/** The connections of these pools, as they are taken. Those that a pool wraps are other objects, for one use each. */
const own = new WeakSet<PostgresClient>();

/** The listener of each connection whose errors are heard. */
const listeners = new WeakMap<PostgresClient, (error: Error) => void>();

/**
 * Takes a connection from a pool. One that breaks also fails the command that it runs; its error, unheard, would end the process.
 *
 * A new one is heard from its first moment: the server may end in the packet in which it answers, before whoever asked for the
 * connection has it.
 */
export async function takeFrom(pool: PostgresPool): Promise<PostgresClient> {
  hearConnections(pool);
  const client = await pool.connect();
  hearErrors(client);
  return client;
}

/**
 * Releases a connection. From then on its pool hears one that was wrapped, which is another object the next time. One of the pool's own is
 * still heard here: a pool that prepares a connection before it gives it does not hear it meanwhile.
 */
export function giveBack(client: PostgresClient, error?: Error | boolean): void {
  const listener = own.has(client) ? undefined : listeners.get(client);
  if (listener !== undefined && client.off !== undefined) {
    listeners.delete(client);
    client.off("error", listener);
  }
  client.release(error);
}

function hearConnections(pool: PostgresPool): void {
  if (heard.has(pool)) return;
  heard.add(pool);
  pool.on?.("acquire", (client) => {
    own.add(client);
    hearErrors(client);
  });
}

function hearErrors(client: PostgresClient): void {
  if (listeners.has(client)) return;
  const listener = (error: Error): void => hasEnded(client, error);
  listeners.set(client, listener);
  client.on("error", listener);
}

const endings = new WeakMap<object, unknown>();

/** Keeps why the server has ended a connection, if that is what an error says. */
export function hasEnded(client: object, error: unknown): void {
  if (sqlStateOf(error) !== undefined && breaksConnection(error) && !endings.has(client))
    endings.set(client, error);
}

/**
 * Why the server has ended a connection that ran none of our commands, such as between two of a transaction: the next one fails with
 * words of the driver, which do not tell it. Undefined if the server has not said so.
 */
export function endingOf(client: PostgresClient): unknown {
  return endings.get(client);
}
