/** The methods that are used of a connection of node-postgres. */
export interface PostgresClient {
  query(
    config: PostgresQuery,
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
  on(event: "notification", listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
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
}

const heard = new WeakSet<PostgresClient>();

/** A connection that breaks also fails the command that it runs; its error, unheard, would end the process. */
export function hearErrors(client: PostgresClient): void {
  if (heard.has(client)) return;
  heard.add(client);
  client.on("error", () => {});
}
