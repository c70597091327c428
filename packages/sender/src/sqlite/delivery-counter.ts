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

/** How many deliveries of a destination are in each state. */
export type StateCounts = Omit<DeliveryCounts, "oldestPendingAt" | "nextDueAt">;

type Tally = { -readonly [K in keyof StateCounts]: StateCounts[K] };

/** Counts deliveries by destination, type and state: read from an index once, kept from then on. */
export class DeliveryCounter {
  readonly #tallies = new Map<string, Map<string, Tally>>();

  constructor(db: Database.Database) {
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

  counts(): ReadonlyMap<string, StateCounts> {
    return new Map(
      [...this.#tallies].map(([destination, byType]) => {
        const sum = newTally();
        for (const tally of byType.values()) for (const state of DELIVERY_STATES) sum[state] += tally[state];
        return [destination, sum];
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
