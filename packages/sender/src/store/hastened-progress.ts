import type { DeliveryProgress } from "../delivery/delivery.ts";

/**
 * What is known of the endpoints of a delivery that is hastened: what rejected it stays out, and when one wanted to be called
 * again no longer counts.
 */
export function hastenedProgress(progress: DeliveryProgress): DeliveryProgress {
  return Object.fromEntries(
    Object.entries(progress).map(([url, { rejected }]) => [url, rejected ? { rejected } : {}]),
  );
}
