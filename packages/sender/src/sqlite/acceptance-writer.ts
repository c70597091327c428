import { firstRoundOf } from "../delivery/rounds.ts";
import type { Acceptance, Accepted, NewCall } from "../store/delivery-store.ts";
import type { CallTable } from "./call-table.ts";
import type { DeliveryTable, DueRow } from "./delivery-table.ts";
import type { ProfileTable } from "./profile-table.ts";

/** What becomes of an acceptance when its transaction is committed. */
export interface WrittenAcceptance extends Accepted {
  /** The deliveries that were stored. */
  readonly stored: readonly DueRow[];
}

export const NOTHING_WRITTEN: WrittenAcceptance = { repeats: [], stored: [] };

interface SkippedNewCall {
  readonly call: NewCall;
  readonly skipped: NonNullable<NewCall["skipped"]>;
}

const NO_POSITIONS: readonly number[] = [];
const NONE: ReadonlySet<number> = new Set();

/** Gathers what calls add to the store, and writes what was gathered in a transaction at its end. */
export class AcceptanceWriter {
  readonly #table: DeliveryTable;
  readonly #calls: CallTable;
  readonly #profiles: ProfileTable;
  /** Calls of the present transaction by source, so that it counts them in one write. */
  readonly #usage = new Map<string, number>();
  /** Skipped calls of the present transaction: what is stored already is told when all repeats are known. */
  #skipped: SkippedNewCall[] = [];

  constructor(table: DeliveryTable, calls: CallTable, profiles: ProfileTable) {
    this.#table = table;
    this.#calls = calls;
    this.#profiles = profiles;
  }

  /** Forgets what was gathered: its transaction failed. */
  clear(): void {
    this.#usage.clear();
    this.#skipped = [];
    this.#table.clear();
  }

  /** Writes what was gathered, inside of its transaction. */
  write(): void {
    this.#table.write();
    for (const { call, skipped } of this.#skipped) this.#calls.addSkipped(call, skipped);
    this.#skipped = [];
    this.#profiles.addUsage(this.#usage);
    this.#usage.clear();
  }

  /** Gathers an acceptance, without its repeats. Keys and traits are written at once, since others may depend on them. */
  add(acceptance: Acceptance): WrittenAcceptance {
    const { calls, messages, deliveries, traits, uniqueForMs } = acceptance;
    const repeats = uniqueForMs === undefined ? NO_POSITIONS : this.#calls.repeats(calls, uniqueForMs);
    const leftOut = repeats.length === 0 ? NONE : new Set(repeats);
    this.#addCalls(calls, leftOut);
    // By the position of a message: how many deliveries it has, and the row of its body, unless it is left out.
    const counts = messages.map(() => 0);
    for (const { message } of deliveries) counts[message] = (counts[message] ?? 0) + 1;
    const rows = messages.map(({ body, call }, position) =>
      leftOut.has(call) || counts[position] === 0 ? undefined : this.#table.addMessage(body),
    );
    const stored: DueRow[] = [];
    for (const delivery of deliveries) {
      const message = messages[delivery.message];
      if (message === undefined) throw new TypeError("A delivery names no message.");
      const row = rows[delivery.message];
      if (row === undefined) continue;
      const isShared = (counts[delivery.message] ?? 0) > 1;
      const seq = this.#table.addDelivery(delivery, row, message, isShared);
      stored.push({ seq, due: firstRoundOf(delivery, message) });
    }
    if (traits !== undefined) this.#profiles.changeTraits(traits);
    return { repeats, stored };
  }

  /** @param leftOut Positions in the list. */
  #addCalls(calls: readonly NewCall[], leftOut: ReadonlySet<number>): void {
    for (const [position, call] of calls.entries()) {
      if (leftOut.has(position)) continue;
      if (call.counted) this.#usage.set(call.source, (this.#usage.get(call.source) ?? 0) + 1);
      const { skipped } = call;
      if (skipped !== undefined) this.#skipped.push({ call, skipped });
    }
  }
}
