import type { DueRow } from "./delivery-table.ts";

/** What a delivery takes besides its body, roughly. */
const OVERHEAD_BYTES = 1_000;

/** Bounds what all lanes together keep in memory of deliveries that are due and wait for a place. */
export class Memory {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Whether it has room for nothing more. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Whether there is room for a delivery; it is taken then. */
  take({ due }: DueRow): boolean {
    if (this.isFull) return false;
    this.#left -= due.body.length + OVERHEAD_BYTES;
    return true;
  }

  /** A delivery that was taken in waits no longer. */
  give({ due }: DueRow): void {
    this.#left += due.body.length + OVERHEAD_BYTES;
  }
}
