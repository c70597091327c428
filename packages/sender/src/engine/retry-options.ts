import type { DeliveryFilter } from "../delivery/delivery-filter.ts";

/** Selects the waiting deliveries to try now. */
export interface RetryAll {
  /** Which of those that wait; `{}` means all of them. */
  readonly filter: Omit<DeliveryFilter, "after" | "limit">;
  /** The most deliveries to try: those that were accepted first. Default: no limit. */
  readonly limit?: number | undefined;
}
