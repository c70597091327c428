import type { DeliveryFilter } from "../delivery/delivery-filter.ts";

/** What differs in a delivery that is sent again: its content and its id. */
export interface ResendOptions {
  /** Sends this instead of the original bytes, as a message of its own. Default: the original bytes. */
  readonly body?: Uint8Array | string | undefined;
  /** Id of the new delivery, such as one that a fault was injected for. Default: a new one. */
  readonly id?: string | undefined;
}

/** Selects the deliveries to send again. */
export interface ResendAll {
  /** At least one field; `after` and `limit` aside. */
  readonly filter: Omit<DeliveryFilter, "after" | "limit">;
  /** Called after each page of a hundred. */
  readonly onProgress?: ((progress: ResendProgress) => void) | undefined;
  /** Stops between two pages; the promise then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The progress of sending again. */
export interface ResendProgress {
  /** Deliveries sent again so far. */
  readonly resent: number;
  /** Deliveries that matched at the start, without those that have been left out. */
  readonly matched: number;
}
