import type { DeliveryInfo } from "./delivery.ts";

/** What identifies a delivery, and no more than that. */
export function deliveryInfo(delivery: DeliveryInfo): DeliveryInfo {
  const { id, messageId, type, source, destination, identity, event, acceptedAt } = delivery;
  return { id, messageId, type, source, destination, identity, event, acceptedAt };
}
