import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "libsql";
import type { Delivery, DeliveryFilter } from "../delivery/delivery.ts";
import { type AttemptRow, type DeliveryRow, deliveryOf } from "./delivery-rows.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** Rows looked at in one turn of the event loop: some ten milliseconds. */
const STRETCH = 5_000;

type Statement = Database.Statement;

/** Which column each field of a filter is compared with. */
const COLUMNS = {
  state: "d.state",
  source: "m.source",
  destination: "d.destination",
  type: "m.type",
  messageId: "m.message_id",
  identity: "m.identity",
  event: "m.event",
} as const satisfies Partial<Record<keyof DeliveryFilter, string>>;

/** Reads deliveries back, for people to look at. */
export class DeliveryLog {
  readonly #db: Database.Database;
  readonly #find: Statement;
  readonly #attempts: Statement;
  readonly #bounds: Statement;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#find = db.prepare(
      "SELECT m.*, d.* FROM delivery AS d JOIN message AS m ON m.seq = d.message WHERE d.id = ?",
    );
    this.#bounds = db
      .prepare(
        `SELECT (SELECT min(seq) FROM delivery), (SELECT max(seq) FROM delivery),
                (SELECT seq FROM delivery WHERE id = ?)`,
      )
      .raw();
    this.#attempts = db.prepare("SELECT * FROM attempt WHERE delivery = ? ORDER BY seq");
  }

  find(id: string): Delivery | undefined {
    const row = this.#find.get([id]) as DeliveryRow | undefined;
    return row && this.#withAttempts(row);
  }

  /**
   * The newest first. Looks at a stretch of the table at a time, with a turn of the event loop between two, so that a
   * filter that hardly anything matches does not hold up sending.
   */
  async list(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    const limit = Math.min(Math.max(Math.trunc(filter.limit ?? DEFAULT_LIMIT), 0), MAX_LIMIT);
    const { conditions, values } = conditionsOf(filter);
    const statement = this.#db.prepare(
      `SELECT m.*, d.* FROM delivery AS d JOIN message AS m ON m.seq = d.message
       WHERE d.seq >= ? AND d.seq < ? ${conditions} ORDER BY d.seq DESC LIMIT ?`,
    );
    const [first, last] = this.#range(filter.before);
    const found: Delivery[] = [];
    for (let end = last; end > first && found.length < limit; end -= STRETCH) {
      if (end !== last) await nextTurn();
      const rows = statement.all([end - STRETCH, end, ...values, limit - found.length]) as DeliveryRow[];
      found.push(...rows.map((row) => this.#withAttempts(row)));
    }
    return found;
  }

  /** Positions to look at: from the first, to before the second. */
  #range(before: string | undefined): readonly [number, number] {
    const row: unknown = this.#bounds.get([before ?? null]);
    if (!Array.isArray(row) || row[0] === null) return [0, 0];
    const [first, last, cursor] = row.map(Number);
    return [first ?? 0, before === undefined ? (last ?? 0) + 1 : (cursor ?? 0)];
  }

  #withAttempts(row: DeliveryRow): Delivery {
    return deliveryOf(row, this.#attempts.all([row.seq]) as AttemptRow[]);
  }
}

function conditionsOf(filter: DeliveryFilter): {
  readonly conditions: string;
  readonly values: readonly string[];
} {
  const given = (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).flatMap((field) => {
    const value = filter[field];
    return value === undefined ? [] : [{ condition: ` AND ${COLUMNS[field]} = ?`, value }];
  });
  return {
    conditions: given.map(({ condition }) => condition).join(""),
    values: given.map(({ value }) => value),
  };
}
