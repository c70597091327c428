import type { DeliveryInfo, Settlement } from "../delivery/delivery.ts";
import type { Clock } from "@countersign/protocol";
import type { RemoteEvent } from "../store/delivery-store.ts";
import type { EventHub } from "./event-hub.ts";

/** Emits the events of another process, as if they were this one's. */
export function tellRemote(events: EventHub, clock: Pick<Clock, "now">, event: RemoteEvent): void {
  if (event.kind === "accepted") {
    events.emit("accepted", { delivery: event.delivery });
  } else if (event.kind === "skipped") {
    const { messageId, type, source, event: name, identity, reason } = event.call;
    events.emit("skipped", { messageId, type, source, event: name, identity, reason });
  } else {
    const { delivery, settlement } = event;
    for (const attempt of settlement.attempts) events.emit("attempt", { delivery, attempt });
    tellSettled(events, clock, delivery, settlement);
  }
}

/** Emits the result of a delivery after a round. */
export function tellSettled(
  events: EventHub,
  clock: Pick<Clock, "now">,
  delivery: DeliveryInfo,
  settlement: Settlement,
): void {
  const { attempts } = settlement;
  if (settlement.state !== "pending") {
    events.emit(settlement.state, { delivery, attempts });
  } else if (attempts.length > 0) {
    const { dueAt } = settlement;
    events.emit("retrying", { delivery, attempts, dueAt, delayMs: Math.max(dueAt - clock.now(), 0) });
  }
}
