import type { DeliveryFilter } from "../delivery/delivery-filter.ts";

/** Selects the waiting deliveries to try now. */
export interface RetryAll {
  /** Which of those that wait; `{}` means all of them. */
  readonly filter: Omit<DeliveryFilter, "after" | "limit">;
  /** The most deliveries to try: those that were accepted first. Default: no limit. */
  readonly limit?: number | undefined;
}

/** What `retry({ filter })` did. */
export interface RetriedAll {
  /** How many were made due. */
  readonly retried: number;
  /** How many of these wait for their destination, which is disabled or has no settings: they start when it is enabled. */
  readonly waiting: number;
}
