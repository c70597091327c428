import type { Delivery } from "../delivery/delivery.ts";

/** What was expected did not happen in time. The message tells what was seen instead. */
export class ExpectationError extends Error {
  override readonly name = "ExpectationError";
  readonly code = "ERR_EXPECTATION";
  // Private, so that what prints errors with their fields does not bury the message under bodies.
  readonly #deliveries: readonly Delivery[];

  constructor(message: string, deliveries: readonly Delivery[]) {
    super(message);
    this.#deliveries = deliveries;
  }

  /** The deliveries that were meant, as they stood at the end. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }
}
