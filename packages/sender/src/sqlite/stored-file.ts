import { randomInt } from "node:crypto";
import type Database from "libsql";
import type { SkippedCall } from "../delivery/skipped-call.ts";
import type { StoredDelivery, StoredKeys, StoredTrait } from "../store/stored-part.ts";
import type { TraitOwner } from "../store/trait-owner.ts";
import { SKIPPED_TEXTS, skippedCallOf, type SkippedRow } from "./call-table.ts";
import {
  type AttemptRow,
  deliveryOf,
  type DeliveryRow,
  progressOf,
  SELECT_ATTEMPTS,
  SELECT_DELIVERIES,
} from "./delivery-rows.ts";
import { inTransaction } from "./in-transaction.ts";
import { type StoredText, textOf, wholeTexts } from "./whole-text.ts";

/** Rows that are read at a time: of deliveries, which have bodies, and of what is small. */
const [FEW, MANY] = [50, 5_000];

/** The first and the last delivery of the pending ones that another store takes now. */
const IN_DOUBT = ["moving_from", "moving_to"] as const;

/** The id of a body: that of the first of the deliveries that share it. An index has all of those. */
const BODY_ID = `iif(d.is_shared = 1,
  (SELECT f.id FROM delivery AS f WHERE f.message = d.message AND f.is_shared = 1 ORDER BY f.seq LIMIT 1), d.id) AS body_id`;

const SELECT_STORED = SELECT_DELIVERIES.replace("SELECT d.*,", `SELECT d.*, ${BODY_ID},`);

interface StoredRow extends DeliveryRow {
  readonly body_id: string;
}

interface KeyRow {
  readonly seq: number;
  readonly source: string;
  readonly key: StoredText;
  readonly at: number;
}

interface OwnerRow {
  readonly source: string;
  readonly trait: string;
  readonly kind: TraitOwner["kind"];
  readonly name: StoredText;
}

/** Reads all of a file that no sender has open, some at a time, and removes what another store has taken. */
export class StoredFile {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Identifies the file, wherever it is moved. */
  id(): string {
    this.#db.prepare("INSERT OR IGNORE INTO meta VALUES ('file', ?)").run([randomInt(2 ** 47)]);
    return String(this.#number("SELECT value FROM meta WHERE key = 'file'"));
  }

  /** Traits that an older version made known, and that no sync has claimed since: to which destinations is not known yet. */
  unclaimed(): readonly string[] {
    const sql = "SELECT DISTINCT trait FROM known_trait WHERE destination = '' ORDER BY trait";
    return (this.#db.prepare(sql).all([]) as { trait: string }[]).map(({ trait }) => trait);
  }

  /** The newest first: clients soon send again what they got no answer to. */
  *keys(): Iterable<StoredKeys> {
    const keepForMs = this.#number("SELECT max(value) FROM meta WHERE key = 'keep_keys'");
    const read = this.#db.prepare(
      `SELECT seq, source, at, ${wholeTexts("key")} FROM call_key WHERE seq < ? ORDER BY seq DESC LIMIT ${MANY}`,
    );
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const rows = read.all([before]) as KeyRow[];
      const last = rows.at(-1);
      if (last === undefined) return;
      before = last.seq;
      const keys = rows.map(({ source, key, at }) => ({ source, key: textOf(key), at }));
      yield { kind: "keys", keepForMs, keys };
    }
  }

  *traits(): Iterable<StoredTrait> {
    const owners = this.#db
      .prepare(`SELECT source, trait, kind, ${wholeTexts("name")} FROM trait_owner ORDER BY source, trait`)
      .all([]) as OwnerRow[];
    for (const { source, trait, kind, name } of owners) {
      const about = { kind: "trait", source, trait, owner: { kind, name: textOf(name) } } as const;
      // Its name is taken also while nobody has it.
      yield { ...about, destination: "", values: new Map() };
      for (const destination of this.#destinationsOf(source, trait)) {
        for (const values of this.#valuesOf(source, trait, destination))
          yield { ...about, destination, values };
      }
    }
  }

  usage(): ReadonlyMap<string, number> {
    const rows = this.#db.prepare("SELECT source, calls FROM usage").all([]) as {
      source: string;
      calls: number;
    }[];
    return new Map(rows.map(({ source, calls }) => [source, calls]));
  }

  /** Skipped calls, the newest first. */
  *skipped(): Iterable<readonly SkippedCall[]> {
    const read = this.#db.prepare(
      `SELECT *, ${SKIPPED_TEXTS} FROM skipped_call WHERE (accepted_at, id) < (?, ?)
       ORDER BY accepted_at DESC, id DESC LIMIT ${MANY}`,
    );
    for (let [at, id] = [Number.MAX_SAFE_INTEGER, ""]; ;) {
      const rows = read.all([at, id]) as SkippedRow[];
      const last = rows.at(-1);
      if (last === undefined) return;
      [at, id] = [last.accepted_at, last.id];
      yield rows.map(skippedCallOf);
    }
  }

  /**
   * Those of which it is not known whether another store has them, as they were pending when a move was interrupted, and which have
   * ended here since then.
   */
  *inDoubt(): Iterable<readonly StoredDelivery[]> {
    const [from = 0, to = 0] = IN_DOUBT.map((key) =>
      this.#number(`SELECT max(value) FROM meta WHERE key = '${key}'`),
    );
    const read = this.#db.prepare(
      `${SELECT_STORED} WHERE +d.state <> 'pending' AND d.seq > ? AND d.seq <= ${to} ORDER BY d.seq LIMIT ${FEW}`,
    );
    yield* this.#deliveries(read, from - 1);
  }

  /** Pending deliveries. They may be removed meanwhile. The table is read once: no index has their order, hence the plus. */
  *pending(): Iterable<readonly StoredDelivery[]> {
    const read = this.#db.prepare(
      `${SELECT_STORED} WHERE +d.state = 'pending' AND d.seq > ? ORDER BY d.seq LIMIT ${FEW}`,
    );
    yield* this.#deliveries(read, 0, (rows) => {
      const ends = [rows[0]?.seq ?? 0, rows.at(-1)?.seq ?? 0];
      this.#db.prepare(`REPLACE INTO meta VALUES ('${IN_DOUBT.join("', ?), ('")}', ?)`).run(ends);
    });
  }

  /** Ended deliveries, the newest first. */
  *ended(): Iterable<readonly StoredDelivery[]> {
    const read = this.#db.prepare(
      `${SELECT_STORED} WHERE +d.state <> 'pending' AND d.seq < ? ORDER BY d.seq DESC LIMIT ${FEW}`,
    );
    yield* this.#deliveries(read, Number.MAX_SAFE_INTEGER);
  }

  /** Removes pending deliveries that another store has: whoever opens the file must not send them again. */
  removePending(ids: readonly string[]): void {
    const these =
      "SELECT seq FROM delivery WHERE id IN (SELECT value FROM json_each(?)) AND +state = 'pending'";
    const list = [JSON.stringify(ids)];
    inTransaction(this.#db, () => {
      const bodies = this.#db
        .prepare(`SELECT DISTINCT message FROM delivery WHERE seq IN (${these})`)
        .raw()
        .all(list) as number[][];
      this.#db.prepare(`DELETE FROM attempt WHERE delivery IN (${these})`).run(list);
      this.#db.prepare(`DELETE FROM delivery WHERE seq IN (${these})`).run(list);
      // The index has every delivery that shares its message.
      this.#db
        .prepare(
          `DELETE FROM message WHERE seq IN (SELECT value FROM json_each(?))
           AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.message = message.seq AND is_shared = 1)`,
        )
        .run([JSON.stringify(bodies.flat())]);
      this.#db.exec(`DELETE FROM meta WHERE key IN ('${IN_DOUBT.join("', '")}')`);
    });
  }

  *#deliveries(
    read: Database.Statement,
    from: number,
    found: (rows: readonly StoredRow[]) => void = () => {},
  ): Iterable<readonly StoredDelivery[]> {
    for (let at = from; ;) {
      const rows = read.all([at]) as StoredRow[];
      const last = rows.at(-1);
      if (last === undefined) return;
      at = last.seq;
      found(rows);
      yield this.#withAttempts(rows);
    }
  }

  #withAttempts(rows: readonly StoredRow[]): readonly StoredDelivery[] {
    const attempts = this.#db
      .prepare(`${SELECT_ATTEMPTS} WHERE delivery IN (SELECT value FROM json_each(?)) ORDER BY seq`)
      .all([JSON.stringify(rows.map(({ seq }) => seq))]) as (AttemptRow & { readonly delivery: number })[];
    return rows.map((row) => ({
      ...deliveryOf(
        row,
        attempts.filter(({ delivery }) => delivery === row.seq),
      ),
      rounds: row.rounds,
      progress: progressOf(row),
      attemptsMade: row.attempts,
      bodyId: row.body_id,
    }));
  }

  #destinationsOf(source: string, trait: string): readonly string[] {
    const rows = this.#db
      .prepare("SELECT DISTINCT destination FROM known_trait WHERE source = ? AND trait = ?")
      .all([source, trait]) as { destination: string }[];
    return rows.map(({ destination }) => destination);
  }

  *#valuesOf(source: string, trait: string, destination: string): Iterable<ReadonlyMap<string, string>> {
    // As bytes: libsql ends a text at its first NUL when it reads one.
    const read = this.#db.prepare(
      `SELECT CAST(user_id AS BLOB) AS user_id, value FROM known_trait
       WHERE source = ? AND trait = ? AND destination = ? AND user_id > ? ORDER BY known_trait.user_id LIMIT ${MANY}`,
    );
    for (let after = ""; ;) {
      const rows = read.all([source, trait, destination, after]) as { user_id: ArrayBuffer; value: string }[];
      const values = new Map(rows.map((row) => [Buffer.from(row.user_id).toString(), row.value]));
      const last = [...values.keys()].at(-1);
      if (last === undefined) return;
      after = last;
      yield values;
    }
  }

  #number(sql: string): number {
    const [value] = this.#db.prepare(sql).raw().get([]) as [number | null];
    return value ?? 0;
  }
}
