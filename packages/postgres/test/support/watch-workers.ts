import pg from "pg";
import type { Place } from "./account.ts";

const LOOK_EVERY_MS = 200;

interface Row {
  readonly id: string;
  /** When it last extended its lease, and the time, both by the database, in milliseconds since 1970. */
  readonly beat_at: number;
  readonly now: number;
}

/** Looks at the list of workers until it is told to stop. */
export class WorkerWatch {
  readonly #schema: string;
  readonly #pool: pg.Pool;
  readonly #beats = new Map<string, number>();
  readonly #held: number[] = [];
  #isStopped = false;
  #longestSilenceMs = 0;
  readonly #watching: Promise<void>;

  constructor({ url, schema }: Place) {
    this.#schema = schema;
    this.#pool = new pg.Pool({ connectionString: url, max: 1 });
    this.#pool.on("error", () => {});
    this.#watching = this.#watch();
  }

  /** How many are in the list. */
  get count(): number {
    return this.#beats.size;
  }

  /**
   * For each that is gone, how long after it last extended its lease it was removed from the list, in milliseconds. With it,
   * its claims were released.
   */
  get held(): readonly number[] {
    return this.#held;
  }

  /** For how long one had not extended its lease, or the database had not answered, at most, in milliseconds. */
  get longestSilenceMs(): number {
    return this.#longestSilenceMs;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#watching;
    await this.#pool.end();
  }

  async #watch(): Promise<void> {
    while (!this.#isStopped) {
      const asked = performance.now();
      await this.#look().catch(() => {});
      this.#longestSilenceMs = Math.max(this.#longestSilenceMs, performance.now() - asked);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  async #look(): Promise<void> {
    const ms = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`;
    const { rows } = await this.#pool.query<Row>(
      `SELECT w.id, ${ms("w.beat_at")} AS beat_at, ${ms("clock_timestamp()")} AS now
       FROM (SELECT 1) AS one LEFT JOIN ${this.#schema}.worker AS w ON true`,
    );
    const now = rows[0]?.now ?? 0;
    const present = new Set(rows.map(({ id }) => id));
    for (const [id, beatAt] of this.#beats) {
      if (present.has(id)) continue;
      this.#held.push(now - beatAt);
      this.#beats.delete(id);
    }
    for (const { id, beat_at: beatAt } of rows) {
      if (id === null) continue;
      this.#beats.set(id, beatAt);
      this.#longestSilenceMs = Math.max(this.#longestSilenceMs, now - beatAt);
    }
  }
}
