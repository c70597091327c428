import {
  type SkippedCall,
  StoreError,
  type StoredKeys,
  type StoredTrait,
  type StoredUsage,
} from "@countersign/sender/store";
import { Columns } from "../database/columns.ts";
import type { Connections } from "../database/connections.ts";
import { encodeOptional, encodeText } from "../database/text.ts";
import { inSchema, KNOWN_TRAIT_KEY, type Names } from "../schema/names.ts";
import { GIVEN } from "./accept-statement.ts";
import { rowsOf } from "./rows-of.ts";

/** The later of two times at which a key was used counts. No call has this reference. */
const TAKE_KEYS = `INSERT INTO $.seen AS s (source, key, call, at)
  SELECT $1, key, '(taken over)', at FROM ${rowsOf({ key: "text", at: "bigint" }, 2)} AS k ORDER BY key
  ON CONFLICT (source, key) DO UPDATE SET call = excluded.call, at = excluded.at WHERE s.at < excluded.at`;

/** A sync that reads the trait meanwhile decides again. A value that a destination has from this store is the newer one. */
const TAKE_TRAIT = `WITH owner AS (
    INSERT INTO $.trait_owner AS o (source, trait, kind, name, version) VALUES ($1, $2, $3, $4, 1)
    ON CONFLICT (source, trait) DO UPDATE SET version = o.version + 1 WHERE o.kind = excluded.kind AND o.name = excluded.name
    RETURNING true),
  taken AS (
    INSERT INTO $.known_trait (source, trait, destination, user_id, value)
    SELECT $1, $2, $5, u.user_id, u.value FROM ${rowsOf({ user_id: "text", value: "text" }, 6)} AS u
    WHERE EXISTS (SELECT FROM owner) ON CONFLICT (${KNOWN_TRAIT_KEY}) DO NOTHING)
  SELECT true FROM owner`;

/** What a store has counted is one row, so that it counts once. */
const TAKE_USAGE = `INSERT INTO $.usage AS u (source, writer, calls) VALUES ($1, $2, $3)
  ON CONFLICT (source, writer) DO UPDATE SET calls = greatest(u.calls, excluded.calls)`;

const TAKE_SKIPPED = `INSERT INTO $.skipped (source, id, message_id, type, identity, event, accepted_at, reason)
  SELECT $1, k.* FROM ${rowsOf(GIVEN.skipped, 2)} AS k ON CONFLICT DO NOTHING`;

/** Takes over from another store what is not a delivery. */
export class TakenTables {
  readonly #connections: Connections;
  readonly #names: Names;

  constructor(connections: Connections, names: Names) {
    this.#connections = connections;
    this.#names = names;
  }

  async keys({ keys }: StoredKeys): Promise<void> {
    for (const [source, own] of bySource(keys)) {
      const columns = new Columns(["text", "bigint"], own.length);
      for (const { key, at } of own) columns.add([encodeText(key), at]);
      await this.#run(TAKE_KEYS, [encodeText(source), ...columns.values()]);
    }
  }

  /** @throws StoreError when another audience or trait has its name here */
  async trait({ source, trait, owner, destination, values }: StoredTrait): Promise<void> {
    const columns = new Columns(["text", "text"], values.size);
    for (const [userId, value] of values) columns.add([encodeText(userId), encodeText(value)]);
    const about = [source, trait, owner.kind, owner.name, destination].map(encodeText);
    const owned = await this.#run(TAKE_TRAIT, [...about, ...columns.values()]);
    if (owned.length > 0) return;
    throw new StoreError(
      "ERR_STORE_FAILED",
      `The ${owner.kind} ${JSON.stringify(owner.name)} of the source ${source} cannot be taken over: its trait ${trait} belongs to another one in this store.`,
    );
  }

  async usage({ from, usage }: StoredUsage): Promise<void> {
    for (const [source, calls] of usage)
      await this.#run(TAKE_USAGE, [encodeText(source), `taken over from ${from}`, calls]);
  }

  async skipped(calls: readonly SkippedCall[]): Promise<void> {
    for (const [source, own] of bySource(calls)) {
      const columns = new Columns(Object.values(GIVEN.skipped), own.length);
      for (const { id, messageId, type, identity, event, acceptedAt, reason } of own) {
        const about = [encodeText(messageId), type, encodeText(identity), encodeOptional(event), acceptedAt];
        columns.add([encodeText(id), ...about, reason]);
      }
      await this.#run(TAKE_SKIPPED, [encodeText(source), ...columns.values()]);
    }
  }

  #run(sql: string, values: readonly unknown[]): Promise<readonly unknown[]> {
    return this.#connections.query("work", { text: inSchema(this.#names, sql) }, values);
  }
}

/** In their order: no statement spans sources. */
export function bySource<T extends { readonly source: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const own = found.get(item.source);
    if (own === undefined) found.set(item.source, [item]);
    else own.push(item);
  }
  return found;
}
