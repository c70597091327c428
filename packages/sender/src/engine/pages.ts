import type { DeliverySummary } from "../delivery/delivery.ts";
import type { SkippedCall } from "../delivery/skipped-call.ts";

/** A page of summaries, and the cursor of the next page, if there is one. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[];
  /** Pass it as `after` for the next page. It stays valid when deliveries are removed. */
  readonly next?: string | undefined;
}

/** A page of skipped calls, and the cursor of the next page, if there is one. */
export interface SkippedPage {
  readonly calls: readonly SkippedCall[];
  /** Pass it as `after` for the next page. */
  readonly next?: string | undefined;
}
