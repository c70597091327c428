import type { DeliveryProgress, DueDelivery } from "../delivery/delivery.ts";
import type { NewDelivery, NewMessage } from "./delivery-store.ts";

const NO_PROGRESS: DeliveryProgress = Object.freeze({});

/** A delivery that was just stored, as a store would read it back: it is due at once, and nothing is known of its endpoints. */
export function firstRoundOf({ id, destination }: NewDelivery, message: NewMessage): DueDelivery {
  const { messageId, type, source, identity, event, acceptedAt, body } = message;
  const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
  return { delivery, rounds: 0, dueAt: acceptedAt, progress: NO_PROGRESS, body };
}
