import type Database from "libsql";
import type { TraitChanges } from "../store/delivery-store.ts";

type Statement = Database.Statement;

/** What is known of sources and users beyond their deliveries: usage, and the traits that syncs made known. */
export class ProfileTable {
  readonly #addUsage: Statement;
  readonly #usage: Statement;
  readonly #setTrait: Statement;
  readonly #forgetTrait: Statement;
  readonly #traits: Statement;

  constructor(db: Database.Database) {
    this.#addUsage = db.prepare(
      "INSERT INTO usage VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET calls = calls + excluded.calls",
    );
    this.#usage = db.prepare("SELECT source, calls FROM usage");
    this.#setTrait = db.prepare(
      `INSERT INTO trait VALUES (?, ?, ?, ?)
       ON CONFLICT (source, trait, user_id) DO UPDATE SET value = excluded.value`,
    );
    this.#forgetTrait = db.prepare("DELETE FROM trait WHERE source = ? AND trait = ? AND user_id = ?");
    // As bytes: libsql ends a text at its first NUL when it reads one.
    this.#traits = db.prepare(
      "SELECT CAST(user_id AS BLOB) AS user_id, value FROM trait WHERE source = ? AND trait = ?",
    );
  }

  addUsage(usage: ReadonlyMap<string, number>): void {
    for (const [source, calls] of usage) this.#addUsage.run([source, calls]);
  }

  usage(): ReadonlyMap<string, number> {
    const rows = this.#usage.all([]) as { source: string; calls: number }[];
    return new Map(rows.map(({ source, calls }) => [source, calls]));
  }

  changeTraits({ source, trait, values }: TraitChanges): void {
    for (const [userId, value] of values) {
      if (value === null) this.#forgetTrait.run([source, trait, userId]);
      else this.#setTrait.run([source, trait, userId, value]);
    }
  }

  traits(source: string, trait: string): ReadonlyMap<string, string> {
    const rows = this.#traits.all([source, trait]) as { user_id: ArrayBuffer; value: string }[];
    return new Map(rows.map((row) => [Buffer.from(row.user_id).toString(), row.value]));
  }
}
