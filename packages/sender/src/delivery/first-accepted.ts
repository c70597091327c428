import type { DeliveryInfo } from "./delivery.ts";

/**
 * The delivery that an id means when nobody names its source: the one that was accepted first, and of those of one millisecond
 * that of the first source by name.
 */
export function firstAccepted<Found extends Pick<DeliveryInfo, "acceptedAt" | "source">>(
  found: readonly Found[],
): Found | undefined {
  return found.toSorted((a, b) => a.acceptedAt - b.acceptedAt || (a.source < b.source ? -1 : 1))[0];
}
