import type { DueRow } from "./delivery-table.ts";

/** What a delivery takes besides its body, roughly. */
const OVERHEAD_BYTES = 1_000;

/** Bounds the memory of deliveries that are due and wait for a place, of all lanes together. */
export class WaitingBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Whether nothing more may wait in memory. */
  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** Takes the memory of a delivery. Returns false where nothing is left: then it may not wait in memory. */
  take({ due }: DueRow): boolean {
    if (this.isSpent) return false;
    this.#left -= due.body.length + OVERHEAD_BYTES;
    return true;
  }

  /** Gives back the memory of a delivery that waits no longer. */
  giveBack({ due }: DueRow): void {
    this.#left += due.body.length + OVERHEAD_BYTES;
  }
}
