import { firstRoundOf } from "../delivery/rounds.ts";
import type { Acceptance, Accepted, NewCall } from "../store/delivery-store.ts";
import type { CallTable } from "./call-table.ts";
import type { DeliveryTable, DueRow } from "./delivery-table.ts";
import type { ProfileTable } from "./profile-table.ts";

/** What writing an acceptance came to. */
export interface WrittenAcceptance extends Accepted {
  /** The deliveries that were stored. */
  readonly stored: readonly DueRow[];
}

export const NOTHING_WRITTEN: WrittenAcceptance = { repeats: [], stored: [] };

const NO_POSITIONS: readonly number[] = [];
const NONE: ReadonlySet<number> = new Set();

/** Writes what calls add to the store, inside of a transaction. */
export class AcceptanceWriter {
  readonly #table: DeliveryTable;
  readonly #calls: CallTable;
  readonly #profiles: ProfileTable;
  /** Calls of the present transaction by source, so that it counts them in one write. */
  readonly #usage = new Map<string, number>();

  constructor(table: DeliveryTable, calls: CallTable, profiles: ProfileTable) {
    this.#table = table;
    this.#calls = calls;
    this.#profiles = profiles;
  }

  /** Forgets what was gathered: its transaction failed. */
  clear(): void {
    this.#usage.clear();
    this.#table.clear();
  }

  /** Inserts what was gathered, inside of its transaction. */
  insert(): void {
    this.#table.write();
    this.#profiles.addUsage(this.#usage);
    this.#usage.clear();
  }

  write(acceptance: Acceptance): WrittenAcceptance {
    const { calls, messages, deliveries, traits, uniqueForMs } = acceptance;
    const repeats = uniqueForMs === undefined ? NO_POSITIONS : this.#calls.repeats(calls, uniqueForMs);
    const left = repeats.length === 0 ? NONE : new Set(repeats);
    this.#writeCalls(calls, left);
    // How many deliveries each message has.
    const sharing = messages.map(() => 0);
    for (const { message } of deliveries) sharing[message] = (sharing[message] ?? 0) + 1;
    const bodies = messages.map(({ body, call }, position) =>
      left.has(call) || sharing[position] === 0 ? undefined : this.#table.addMessage(body),
    );
    const stored: DueRow[] = [];
    for (const delivery of deliveries) {
      const message = messages[delivery.message];
      if (message === undefined) throw new TypeError("A delivery names no message.");
      const body = bodies[delivery.message];
      if (body === undefined) continue;
      const isShared = (sharing[delivery.message] ?? 0) > 1;
      const seq = this.#table.addDelivery(delivery, body, message, isShared);
      stored.push({ seq, due: firstRoundOf(delivery, message) });
    }
    if (traits !== undefined) this.#profiles.changeTraits(traits);
    return { repeats, stored };
  }

  /** @param left Positions of the calls that are left out. */
  #writeCalls(calls: readonly NewCall[], left: ReadonlySet<number>): void {
    for (const [position, call] of calls.entries()) {
      if (left.has(position)) continue;
      if (call.counted) this.#usage.set(call.source, (this.#usage.get(call.source) ?? 0) + 1);
      if (call.skipped !== undefined) this.#calls.addSkipped(call, call.skipped);
    }
  }
}
