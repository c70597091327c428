import type Database from "libsql";
import type { DeliveryCount } from "./delivery-counter.ts";

/** Deliveries removed at a time, so that removing never holds up sending for long. */
const SWEEP_SIZE = 500;

/** The same, when it is done to make room. */
const FEW_AT_A_TIME = 20;

/** How often to look for something to remove. */
const SWEEP_INTERVAL_MS = 60_000;

type Statement = Database.Statement;

/**
 * Removes what ended longer ago than it is kept for, so that the file does not grow without end. Pending deliveries
 * have no end and so are never removed. Runs along with commits: a store that writes nothing does not grow either.
 */
export class Retention {
  readonly #db: Database.Database;
  readonly #keepForMs: number;
  readonly #choose: Statement;
  readonly #count: Statement;
  readonly #statements: readonly Statement[];
  #nextSweepAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database.Database, keepForMs: number) {
    this.#db = db;
    this.#keepForMs = keepForMs;
    db.exec("CREATE TEMP TABLE outdated (delivery INTEGER PRIMARY KEY, message INTEGER, destination, state)");
    this.#choose = db.prepare(
      `INSERT INTO outdated SELECT seq, message, destination, state FROM delivery
       WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?`,
    );
    this.#count = db.prepare(
      "SELECT destination, state, count(*) AS count FROM outdated GROUP BY destination, state",
    );
    this.#statements = [
      "DELETE FROM attempt WHERE delivery IN (SELECT delivery FROM outdated)",
      "DELETE FROM delivery WHERE seq IN (SELECT delivery FROM outdated)",
      `DELETE FROM message WHERE seq IN (SELECT message FROM outdated)
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.message = message.seq)`,
      "DELETE FROM outdated",
    ].map((sql) => db.prepare(sql));
  }

  /** Removes some of what is outdated, if it is time to; returns what it removed. */
  sweep(now: number): readonly DeliveryCount[] {
    if (now < this.#nextSweepAt) return [];
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const removed = this.#remove(now - this.#keepForMs, SWEEP_SIZE);
      this.#db.exec("COMMIT");
      const total = removed.reduce((sum, { count }) => sum + count, 0);
      // A full sweep leaves more to remove, with the next commit.
      if (total < SWEEP_SIZE) this.#nextSweepAt = now + Math.min(SWEEP_INTERVAL_MS, this.#keepForMs);
      return removed;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      this.#nextSweepAt = now + SWEEP_INTERVAL_MS;
      throw error;
    }
  }

  /** Removes a few of those that ended first, outdated or not, inside of the present transaction. */
  removeOldest(): readonly DeliveryCount[] {
    return this.#remove(Number.MAX_SAFE_INTEGER, FEW_AT_A_TIME);
  }

  #remove(endedBefore: number, limit: number): readonly DeliveryCount[] {
    this.#choose.run([endedBefore, limit]);
    const removed = this.#count.all([]) as DeliveryCount[];
    if (removed.length > 0) for (const statement of this.#statements) statement.run([]);
    return removed;
  }
}
