import type Database from "libsql";
import type { Delivery } from "../delivery/delivery.ts";
import type { DeliveryCounts } from "../store/delivery-store.ts";
import type { DeliveryCounter } from "./delivery-counter.ts";
import {
  type AttemptRow,
  type DeliveryRow,
  deliveryOf,
  SELECT_ATTEMPTS,
  SELECT_DELIVERIES,
} from "./delivery-rows.ts";

type Statement = Database.Statement;

/** Reads deliveries back, for people to look at. */
export class DeliveryLog {
  readonly #counter: DeliveryCounter;
  readonly #find: Statement;
  readonly #attempts: Statement;
  readonly #oldestPending: Statement;
  readonly #nextDue: Statement;

  constructor(db: Database.Database, counter: DeliveryCounter) {
    this.#counter = counter;
    this.#find = db.prepare(`${SELECT_DELIVERIES} WHERE d.id = ?`);
    this.#attempts = db.prepare(`${SELECT_ATTEMPTS} WHERE delivery = ? ORDER BY seq`);
    this.#oldestPending = db
      .prepare(
        `SELECT min(accepted_at) FROM delivery INDEXED BY delivery_by_kind
         WHERE destination = ? AND type = ? AND state = 'pending'`,
      )
      .raw();
    this.#nextDue = db
      .prepare("SELECT min(due_at) FROM delivery WHERE destination = ? AND state = 'pending'")
      .raw();
  }

  find(id: string): Delivery | undefined {
    const row = this.#find.get([id]) as DeliveryRow | undefined;
    if (row === undefined) return undefined;
    // Most deliveries have one attempt, and it is in their row.
    const earlier = row.attempts > 1 ? (this.#attempts.all([row.seq]) as AttemptRow[]) : [];
    return deliveryOf(row, earlier);
  }

  counts(): ReadonlyMap<string, DeliveryCounts> {
    const oldest = new Map<string, number>();
    for (const { destination, type, state } of this.#counter.kinds()) {
      if (state !== "pending") continue;
      const [at] = this.#oldestPending.get([destination, type]) as [number];
      oldest.set(destination, Math.min(at, oldest.get(destination) ?? at));
    }
    return new Map(
      [...this.#counter.counts()].map(([destination, counts]) => {
        const oldestPendingAt = oldest.get(destination);
        if (oldestPendingAt === undefined) return [destination, counts];
        const [nextDueAt] = this.#nextDue.get([destination]) as [number];
        return [destination, { ...counts, oldestPendingAt, nextDueAt }];
      }),
    );
  }
}
