import type Database from "libsql";
import type { KnownTrait, TraitChanges } from "../store/delivery-store.ts";
import type { TraitOwner } from "../store/trait-owner.ts";
import { StoreError } from "../store/store-error.ts";

type Statement = Database.Statement;

/** Stands for the destination in what a version wrote that knew no destinations. */
const UNCLAIMED = "";

/** The version of a trait that no sync has claimed yet. */
const UNCLAIMED_VERSION = "none";

/** What is known of sources and users beyond their deliveries: usage, and the traits that syncs made known. */
export class ProfileTable {
  readonly #addUsage: Statement;
  readonly #usage: Statement;
  readonly #setTrait: Statement;
  readonly #forgetTrait: Statement;
  readonly #traits: Statement;
  readonly #owner: Statement;
  readonly #claim: Statement;
  readonly #change: Statement;
  readonly #adopt: Statement;
  readonly #forgetUnclaimed: Statement;

  constructor(db: Database.Database) {
    this.#addUsage = db.prepare(
      "INSERT INTO usage VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET calls = calls + excluded.calls",
    );
    this.#usage = db.prepare("SELECT source, calls FROM usage");
    this.#setTrait = db.prepare(
      `INSERT INTO known_trait VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (source, trait, destination, user_id) DO UPDATE SET value = excluded.value`,
    );
    this.#forgetTrait = db.prepare(
      "DELETE FROM known_trait WHERE source = ? AND trait = ? AND destination = ? AND user_id = ?",
    );
    // As bytes: libsql ends a text at its first NUL when it reads one.
    this.#traits = db.prepare(
      `SELECT CAST(user_id AS BLOB) AS user_id, value FROM known_trait
       WHERE source = ? AND trait = ? AND destination = ?`,
    );
    this.#owner = db.prepare(
      "SELECT kind, CAST(name AS BLOB) AS name, version FROM trait_owner WHERE source = ? AND trait = ?",
    );
    this.#claim = db.prepare("INSERT INTO trait_owner VALUES (?, ?, ?, ?, 1) ON CONFLICT DO NOTHING");
    this.#change = db.prepare(
      "UPDATE trait_owner SET version = version + 1 WHERE source = ? AND trait = ? AND version = ?",
    );
    this.#adopt = db.prepare(
      `INSERT INTO known_trait SELECT source, trait, ?, user_id, value FROM known_trait
       WHERE source = ? AND trait = ? AND destination = '${UNCLAIMED}'`,
    );
    this.#forgetUnclaimed = db.prepare(
      `DELETE FROM known_trait WHERE source = ? AND trait = ? AND destination = '${UNCLAIMED}'`,
    );
  }

  addUsage(usage: ReadonlyMap<string, number>): void {
    for (const [source, calls] of usage) this.#addUsage.run([source, calls]);
  }

  usage(): ReadonlyMap<string, number> {
    const rows = this.#usage.all([]) as { source: string; calls: number }[];
    return new Map(rows.map(({ source, calls }) => [source, calls]));
  }

  /** @throws StoreError `ERR_STORE_CHANGED` when the trait has another version by now */
  changeTraits({ source, trait, owner, values, version }: TraitChanges): void {
    const isFirst = version === UNCLAIMED_VERSION;
    const { changes } = isFirst
      ? this.#claim.run([source, trait, owner.kind, owner.name])
      : this.#change.run([source, trait, Number(version)]);
    if (changes === 0) {
      throw new StoreError("ERR_STORE_CHANGED", `The trait ${trait} was changed meanwhile. Read it again.`);
    }
    if (isFirst) {
      for (const destination of values.keys()) this.#adopt.run([destination, source, trait]);
      this.#forgetUnclaimed.run([source, trait]);
    }
    for (const [destination, byUser] of values) {
      for (const [userId, value] of byUser) {
        if (value === null) this.#forgetTrait.run([source, trait, destination, userId]);
        else this.#setTrait.run([source, trait, destination, userId, value]);
      }
    }
  }

  /**
   * What these destinations know of a trait. What an older version wrote says nothing about destinations, and belongs to
   * those of the first sync.
   */
  traits(source: string, trait: string, destinations: readonly string[]): KnownTrait {
    const claimed = this.#claimOf(source, trait);
    const values = destinations.map((destination) => {
      const known = this.#known(source, trait, claimed === undefined ? UNCLAIMED : destination);
      return [destination, known] as const;
    });
    return { owner: claimed?.owner, values: new Map(values), version: claimed?.version ?? UNCLAIMED_VERSION };
  }

  #known(source: string, trait: string, destination: string): ReadonlyMap<string, string> {
    const rows = this.#traits.all([source, trait, destination]) as { user_id: ArrayBuffer; value: string }[];
    return new Map(rows.map((row) => [Buffer.from(row.user_id).toString(), row.value]));
  }

  #claimOf(
    source: string,
    trait: string,
  ): { readonly owner: TraitOwner; readonly version: string } | undefined {
    const row = this.#owner.get([source, trait]) as
      | { kind: TraitOwner["kind"]; name: Uint8Array; version: number }
      | undefined;
    if (row === undefined) return undefined;
    return {
      owner: { kind: row.kind, name: Buffer.from(row.name).toString() },
      version: String(row.version),
    };
  }
}
