import type Database from "libsql";
import type { DeliveryState, EndState } from "../delivery/delivery.ts";
import type { DeliveryCounts } from "../store/delivery-store.ts";

/** How many deliveries of a destination and a state. */
export interface DeliveryCount {
  readonly destination: string;
  readonly state: DeliveryState;
  readonly count: number;
}

/** Counts deliveries by destination and state: read from the table once, kept from then on. */
export class DeliveryCounter {
  readonly #counts = new Map<string, DeliveryCounts>();

  constructor(db: Database.Database) {
    const rows = db
      .prepare("SELECT destination, state, count(*) AS count FROM delivery GROUP BY destination, state")
      .all([]) as DeliveryCount[];
    for (const { destination, state, count } of rows) this.#of(destination)[state] = count;
  }

  added(destination: string): void {
    this.#of(destination).pending += 1;
  }

  ended(destination: string, state: EndState): void {
    const counts = this.#of(destination);
    counts.pending -= 1;
    counts[state] += 1;
  }

  /** Takes off deliveries that are no longer kept. */
  forget(removed: readonly DeliveryCount[]): void {
    for (const { destination, state, count } of removed) this.#of(destination)[state] -= count;
  }

  counts(): ReadonlyMap<string, DeliveryCounts> {
    return new Map([...this.#counts].map(([destination, counts]) => [destination, { ...counts }]));
  }

  #of(destination: string): DeliveryCounts {
    const known = this.#counts.get(destination);
    if (known !== undefined) return known;
    const counts: DeliveryCounts = { pending: 0, delivered: 0, failed: 0, expired: 0 };
    this.#counts.set(destination, counts);
    return counts;
  }
}
