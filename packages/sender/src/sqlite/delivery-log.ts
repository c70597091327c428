import type Database from "libsql";
import type { Delivery, DeliveryFilter } from "../delivery/delivery.ts";
import { type AttemptRow, type DeliveryRow, deliveryOf } from "./delivery-rows.ts";

const defaultLimit = 100;
const maxLimit = 1_000;

type Statement = Database.Statement;

/** Which column each field of a filter is compared with. */
const columns = {
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

  constructor(db: Database.Database) {
    this.#db = db;
    this.#find = db.prepare(
      "SELECT m.*, d.* FROM delivery AS d JOIN message AS m ON m.seq = d.message WHERE d.id = ?",
    );
    this.#attempts = db.prepare("SELECT * FROM attempt WHERE delivery = ? ORDER BY seq");
  }

  find(id: string): Delivery | undefined {
    const row = this.#find.get([id]) as DeliveryRow | undefined;
    return row && this.#withAttempts(row);
  }

  /** The newest first. */
  list(filter: DeliveryFilter): readonly Delivery[] {
    const conditions = ["true"];
    const values: (string | number)[] = [];
    for (const [field, column] of Object.entries(columns) as [keyof typeof columns, string][]) {
      const value = filter[field];
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    if (filter.before !== undefined) {
      conditions.push("d.seq < (SELECT seq FROM delivery WHERE id = ?)");
      values.push(filter.before);
    }
    const limit = Math.min(Math.max(Math.trunc(filter.limit ?? defaultLimit), 0), maxLimit);
    const sql = `SELECT m.*, d.* FROM delivery AS d JOIN message AS m ON m.seq = d.message
      WHERE ${conditions.join(" AND ")} ORDER BY d.seq DESC LIMIT ?`;
    const rows = this.#db.prepare(sql).all([...values, limit]) as DeliveryRow[];
    return rows.map((row) => this.#withAttempts(row));
  }

  #withAttempts(row: DeliveryRow): Delivery {
    return deliveryOf(row, this.#attempts.all([row.seq]) as AttemptRow[]);
  }
}
