import type Database from "libsql";
import {
  DELIVERY_STATES,
  type DeliveryInfo,
  type DeliveryState,
  type EndState,
} from "../delivery/delivery.ts";
import type { DeliveryCounts } from "../store/delivery-store.ts";

/** Deliveries that are counted, and found, together. */
interface DeliveryKind {
  readonly destination: string;
  readonly type: string;
  readonly state: DeliveryState;
}

/** How many deliveries of a kind. */
export interface DeliveryCount extends DeliveryKind {
  readonly count: number;
}

type Tally = Record<DeliveryState, number>;

/** Counts deliveries by destination, type and state: read from an index once, kept from then on. */
export class DeliveryCounter {
  readonly #tallies = new Map<string, Map<string, Tally>>();
  readonly #oldestPending: Database.Statement;
  readonly #nextDue: Database.Statement;

  constructor(db: Database.Database) {
    this.#oldestPending = db
      .prepare(
        `SELECT min(accepted_at) FROM delivery INDEXED BY delivery_by_kind
         WHERE destination = ? AND type = ? AND state = 'pending'`,
      )
      .raw();
    this.#nextDue = db
      .prepare("SELECT min(due_at) FROM delivery WHERE destination = ? AND state = 'pending'")
      .raw();
    const rows = db
      .prepare(
        "SELECT destination, type, state, count(*) AS count FROM delivery GROUP BY destination, type, state",
      )
      .all([]) as DeliveryCount[];
    for (const { destination, type, state, count } of rows) this.#of(destination, type)[state] = count;
  }

  added({ destination, type }: Pick<DeliveryInfo, "destination" | "type">): void {
    this.#of(destination, type).pending += 1;
  }

  ended({ destination, type }: Pick<DeliveryInfo, "destination" | "type">, state: EndState): void {
    const tally = this.#of(destination, type);
    tally.pending -= 1;
    tally[state] += 1;
  }

  /** Takes off deliveries that are no longer kept. */
  forget(removed: readonly DeliveryCount[]): void {
    for (const { destination, type, state, count } of removed) this.#of(destination, type)[state] -= count;
  }

  /** Every kind of which there are deliveries. */
  kinds(): readonly DeliveryCount[] {
    return [...this.#tallies].flatMap(([destination, byType]) =>
      [...byType].flatMap(([type, tally]) =>
        DELIVERY_STATES.filter((state) => tally[state] > 0).map((state) => ({
          destination,
          type,
          state,
          count: tally[state],
        })),
      ),
    );
  }

  counts(): ReadonlyMap<string, DeliveryCounts> {
    return new Map(
      [...this.#tallies].map(([destination, byType]) => {
        const sum = newTally();
        let oldestPendingAt = Number.POSITIVE_INFINITY;
        for (const [type, tally] of byType) {
          for (const state of DELIVERY_STATES) sum[state] += tally[state];
          if (tally.pending <= 0) continue;
          const [at] = this.#oldestPending.get([destination, type]) as [number];
          oldestPendingAt = Math.min(oldestPendingAt, at);
        }
        if (oldestPendingAt === Number.POSITIVE_INFINITY) return [destination, sum];
        const [nextDueAt] = this.#nextDue.get([destination]) as [number];
        return [destination, { ...sum, oldestPendingAt, nextDueAt }];
      }),
    );
  }

  #of(destination: string, type: string): Tally {
    let byType = this.#tallies.get(destination);
    if (byType === undefined) this.#tallies.set(destination, (byType = new Map()));
    let tally = byType.get(type);
    if (tally === undefined) byType.set(type, (tally = newTally()));
    return tally;
  }
}

function newTally(): Tally {
  return { pending: 0, delivered: 0, failed: 0, expired: 0 };
}
