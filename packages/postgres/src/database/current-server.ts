import { serverOf } from "./own-pool.ts";
import type { PostgresClient } from "./postgres-pool.ts";

/**
 * The server that answers the heartbeats. Connections that were made before another one answered, and lead elsewhere, are not used any
 * more: one that only reads would not notice that it is read-only by now, and old.
 */
export class CurrentServer {
  /** Its start. */
  #server: number | undefined;
  /** When it has answered, and when it first had since another, by `performance.now()`. */
  #answeredAt = Number.NEGATIVE_INFINITY;
  #movedAt = Number.NEGATIVE_INFINITY;
  /** When each connection was first used. */
  readonly #firstUses = new WeakMap<PostgresClient, number>();

  /**
   * A heartbeat was answered by this server.
   *
   * @param server Its start.
   * @returns Whether the last heartbeat was answered by another one.
   */
  keepTo(server: number): boolean {
    const hasMoved = this.isOther(server);
    this.#server = server;
    this.#answeredAt = performance.now();
    if (hasMoved) this.#movedAt = this.#answeredAt;
    return hasMoved;
  }

  /** Whether a server is another one than that of the last heartbeat. */
  isOther(server: number): boolean {
    return this.#server !== undefined && server !== this.#server;
  }

  /** Whether a connection leads to another one. One that was made after the last heartbeat may know better which server is the primary. */
  isLeftBy(client: PostgresClient): boolean {
    const firstUse = this.#firstUses.get(client) ?? performance.now();
    this.#firstUses.set(client, firstUse);
    const server = serverOf(client);
    // Others' pools and poolers do not say where a connection leads.
    return server === undefined
      ? firstUse < this.#movedAt
      : firstUse < this.#answeredAt && this.isOther(server);
  }
}
