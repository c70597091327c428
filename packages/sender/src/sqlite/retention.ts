import type Database from "libsql";
import type { DeliveryCount } from "./delivery-counter.ts";
import { rollBack } from "./in-transaction.ts";

/** Deliveries removed at a time, so that removing never holds up sending for long; more only if more are stored. */
const SWEEP_SIZE = 200;

/** The same of what is small. */
const SMALL_SWEEP_SIZE = 1_000;

/** The same, when it is done to make room. */
const FEW_AT_A_TIME = 20;
const FEW_SMALL_AT_A_TIME = 200;

/** How often to look for something to remove: often, so that it is little at a time. */
const SWEEP_INTERVAL_MS = 25;

/** How long to wait after a failure. */
const RECOVERY_MS = 60_000;

type Statement = Database.Statement;

/**
 * Removes what ended longer ago than it is kept for, so that the file does not grow without end. Pending deliveries
 * have no end and so are never removed. Runs along with commits, and now and then while there are none.
 */
export class Retention {
  /** As the file has it: the longest time within which keys of calls were asked for, by whichever process had it open. */
  keepKeysForMs: number;
  /** Whether more may be outdated: the last sweep found something, and removes only some at a time. */
  leavesMore = false;
  /** How many deliveries were stored since the last sweep. It removes more than that, so that the file does not grow. */
  stored = 0;
  readonly #db: Database.Database;
  readonly #keepForMs: number;
  readonly #choose: Statement;
  readonly #chooseById: Statement;
  readonly #count: Statement;
  readonly #statements: readonly Statement[];
  readonly #forgetKeys: Statement;
  readonly #forgetSkipped: Statement;
  readonly #oldest: Statement;
  readonly #keepKeys: Statement;
  #nextSweepAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database.Database, keepForMs: number) {
    this.#db = db;
    this.#keepForMs = keepForMs;
    db.exec(
      "CREATE TEMP TABLE outdated (delivery INTEGER PRIMARY KEY, message INTEGER, destination, type, state)",
    );
    const choose = "INSERT INTO outdated SELECT seq, message, destination, type, state FROM delivery";
    this.#choose = db.prepare(
      `${choose} WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?`,
    );
    this.#chooseById = db.prepare(
      `${choose} WHERE ended_at IS NOT NULL AND id IN (SELECT value FROM json_each(?))`,
    );
    this.#count = db.prepare(
      "SELECT destination, type, state, count(*) AS count FROM outdated GROUP BY destination, type, state",
    );
    this.#statements = [
      "DELETE FROM attempt WHERE delivery IN (SELECT delivery FROM outdated)",
      "DELETE FROM delivery WHERE seq IN (SELECT delivery FROM outdated)",
      // The index has every delivery that shares its message.
      `DELETE FROM message WHERE seq IN (SELECT message FROM outdated)
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.message = message.seq AND is_shared = 1)`,
      "DELETE FROM outdated",
    ].map((sql) => db.prepare(sql));
    // No key is looked at unless the oldest is outdated: this runs often. A key from the future was stored while the clock was
    // ahead; until its time had come, no later key would be removed.
    this.#forgetKeys = db.prepare(
      `DELETE FROM call_key WHERE at NOT BETWEEN ?1 AND ?2 AND seq IN (SELECT seq FROM call_key ORDER BY seq
         LIMIT iif((SELECT at FROM call_key ORDER BY seq LIMIT 1) NOT BETWEEN ?1 AND ?2, ?3, 0))`,
    );
    this.#keepKeys = db.prepare(
      `INSERT INTO meta VALUES ('keep_keys', ?) ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`,
    );
    const [kept] = db.prepare("SELECT max(value) FROM meta WHERE key = 'keep_keys'").raw().get([]) as [
      number | null,
    ];
    this.keepKeysForMs = kept ?? 0;
    this.#forgetSkipped = db.prepare(
      `DELETE FROM skipped_call WHERE (accepted_at, id) IN
         (SELECT accepted_at, id FROM skipped_call WHERE accepted_at < ? ORDER BY accepted_at, id LIMIT ?)`,
    );
    this.#oldest = db
      .prepare(
        `SELECT (SELECT min(ended_at) FROM delivery WHERE ended_at IS NOT NULL),
                (SELECT at FROM call_key ORDER BY seq LIMIT 1), (SELECT min(accepted_at) FROM skipped_call)`,
      )
      .raw();
  }

  /** Keys of calls are asked for within this time: writes it, inside of the present transaction. */
  keepKeysFor(ms: number): void {
    this.#keepKeys.run([Math.ceil(ms)]);
  }

  /** Keys are kept so long from now on: the transaction of `keepKeysFor` was committed. */
  keysAreKeptFor(ms: number): void {
    this.keepKeysForMs = Math.max(this.keepKeysForMs, ms);
  }

  /** Whether it is time to look for something outdated. A clock that was set back must not put it off. */
  isDue(now: number): boolean {
    return now >= this.#nextSweepAt || now < this.#nextSweepAt - RECOVERY_MS;
  }

  /** Makes the next sweep due. */
  hasten(): void {
    this.#nextSweepAt = Number.NEGATIVE_INFINITY;
  }

  /** Removes some of what is outdated; returns what deliveries it removed. */
  sweep(now: number): readonly DeliveryCount[] {
    const most = Math.max(SWEEP_SIZE, 2 * this.stored);
    this.stored = 0;
    this.leavesMore = false;
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const removed = this.#remove(this.#choose, now - this.#keepForMs, most);
      const keep = this.keepKeysForMs;
      const keys = keep === 0 ? 0 : this.#forgetKeys.run([now - keep, now + keep, SMALL_SWEEP_SIZE]).changes;
      const skipped = this.#forgetSkipped.run([now - this.#keepForMs, SMALL_SWEEP_SIZE]).changes;
      this.#db.exec("COMMIT");
      this.leavesMore = removed.length > 0 || keys + skipped > 0;
      this.#nextSweepAt = now + SWEEP_INTERVAL_MS;
      return removed;
    } catch (error) {
      rollBack(this.#db);
      this.#nextSweepAt = now + RECOVERY_MS;
      throw error;
    }
  }

  /**
   * Makes room inside of the present transaction: removes a few of what is oldest, outdated or not.
   *
   * @returns what deliveries it removed; undefined when nothing is left that may be removed
   */
  removeOldest(): readonly DeliveryCount[] | undefined {
    const ages = (this.#oldest.get([]) as (number | null)[]).map((at) => at ?? Number.POSITIVE_INFINITY);
    const oldest = Math.min(...ages);
    if (oldest === Number.POSITIVE_INFINITY) return undefined;
    const [delivery, key] = ages;
    if (oldest === delivery) return this.#remove(this.#choose, Number.MAX_SAFE_INTEGER, FEW_AT_A_TIME);
    if (oldest === key) this.#forgetKeys.run([Number.MAX_SAFE_INTEGER, 0, FEW_SMALL_AT_A_TIME]);
    else this.#forgetSkipped.run([Number.MAX_SAFE_INTEGER, FEW_SMALL_AT_A_TIME]);
    return [];
  }

  /** Removes those of these deliveries that have ended, inside of the present transaction. */
  removeById(ids: readonly string[]): readonly DeliveryCount[] {
    return this.#remove(this.#chooseById, JSON.stringify(ids));
  }

  #remove(choose: Statement, ...values: readonly (string | number)[]): readonly DeliveryCount[] {
    choose.run(values);
    const removed = this.#count.all([]) as DeliveryCount[];
    if (removed.length > 0) for (const statement of this.#statements) statement.run([]);
    return removed;
  }
}

export function totalOf(counts: readonly DeliveryCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}
