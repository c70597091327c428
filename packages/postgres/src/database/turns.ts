import { hasNoneLeft } from "./postgres-error.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import { within } from "./within.ts";

/** While some wait, one more asks for a connection this often, in milliseconds: the database may have one again. */
const ASKS_AGAIN_MS = 1_000;

/**
 * Who has the connections of a pool, where the database has fewer than the pool may make: whoever is refused a new one waits for one
 * that this process has, or asks for at the same time. Those who wait come first, in their order. Else a heartbeat would be refused
 * for as long as calls take what is given back.
 */
export class Turns {
  /** How many have a connection, or ask for one. */
  #busy = 0;
  /** How many connections were given back until now. */
  #given = 0;
  /** How many were refused a connection, and have none yet. */
  #short = 0;
  /** Why they were. */
  #why: unknown;
  #waiting: (() => void)[] = [];
  #askedAt = Number.NEGATIVE_INFINITY;
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  /**
   * Resolves to a connection, which is to be given back.
   *
   * @param until How long to wait, by `performance.now()`.
   * @throws what `connect` throws, if no other connection can become free
   */
  async take<T>(connect: () => Promise<T>, until: number): Promise<T> {
    let isShort = false;
    if (this.#short > 0 || this.#waiting.length > 0) await this.#turn("push", until);
    try {
      for (;;) {
        const given = this.#given;
        this.#busy += 1;
        try {
          return await connect();
        } catch (error) {
          this.#busy -= 1;
          // One may have been given back while the database refused another.
          const isFree = (this.#pool.idleCount ?? 0) > 0 || (this.#busy === 0 && this.#given > given);
          if (!hasNoneLeft(error) || (this.#busy === 0 && !isFree)) throw error;
          this.#why = error;
          if (!isShort) this.#short += 1;
          isShort = true;
          if (!isFree) await this.#turn("unshift", until);
        }
      }
    } catch (error) {
      this.#next();
      throw error;
    } finally {
      if (isShort) this.#short -= 1;
    }
  }

  giveBack(): void {
    this.#busy -= 1;
    this.#given += 1;
    this.#next();
    const now = performance.now();
    if (this.#waiting.length === 0 || now - this.#askedAt < ASKS_AGAIN_MS) return;
    this.#askedAt = now;
    this.#next();
  }

  #next(): void {
    this.#waiting.shift()?.();
  }

  async #turn(place: "push" | "unshift", until: number): Promise<void> {
    let enter: (() => void) | undefined;
    const turn = new Promise<void>((resolve) => {
      enter = resolve;
      this.#waiting[place](resolve);
    });
    await within(until - performance.now(), turn, () => {
      this.#waiting = this.#waiting.filter((each) => each !== enter);
      return this.#why as Error;
    });
  }
}
