import type Database from "libsql";
import { inTransaction } from "@countersign/sender";

/** What an earlier version recognised an accepted message by, within its source. */
export interface SeenKey {
  readonly source: string;
  readonly key: string;
}

/** How long it remembered a message: 24 hours. */
const WINDOW_MS = 24 * 60 * 60 * 1_000;

/** The messages that an earlier version accepted: a client's retry that arrives after the upgrade is still a repeat. */
export class SeenTable {
  readonly #db: Database.Database;
  readonly #nextVersion: number;
  readonly #isSeen: Database.Statement;
  readonly #countsUntil: number;
  #isOver = false;

  /** `nextVersion`: that of a file without this table. */
  constructor(db: Database.Database, nextVersion: number) {
    this.#db = db;
    this.#nextVersion = nextVersion;
    this.#isSeen = db.prepare("SELECT 1 FROM seen WHERE source = ? AND key = ? AND at > ?");
    const { latest } = db.prepare("SELECT max(at) AS latest FROM seen").get() as { latest: number | null };
    this.#countsUntil = (latest ?? Number.NEGATIVE_INFINITY) + WINDOW_MS;
  }

  /** Whether a message was accepted within the 24 hours before `now`. Once all are older, the table is removed. */
  has({ source, key }: SeenKey, now: number): boolean {
    if (this.#isOver) return false;
    if (now >= this.#countsUntil) {
      this.#isOver = true;
      inTransaction(this.#db, () =>
        this.#db.exec(`DROP TABLE seen; PRAGMA user_version = ${this.#nextVersion}`),
      );
      return false;
    }
    return this.#isSeen.get(source, stored(key), now - WINDOW_MS) !== undefined;
  }
}

/**
 * SQLite would store every lone surrogate as the same character, and different messages would count as repeats. Such keys were
 * stored as JSON, and so was what looks like it.
 */
function stored(key: string): string {
  return /^"|\p{Surrogate}/u.test(key) ? JSON.stringify(key) : key;
}
