import type { Clock } from "@countersign/protocol";
import type { DeliveryInfo } from "../delivery/delivery.ts";
import type { Acceptance, DeliveryStore } from "../store/delivery-store.ts";
import type { EventHub } from "./event-hub.ts";
import type { MinuteCounts } from "./minute-counts.ts";
import type { Waiters } from "./waiters.ts";

/** What an acceptor works with. */
interface AcceptorParts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly events: EventHub;
  readonly minutes: MinuteCounts;
  readonly waiters: Waiters;
}

/** Passes what was accepted to the store, and tells of it when it is stored. */
export class Acceptor {
  readonly #parts: AcceptorParts;

  constructor(parts: AcceptorParts) {
    this.#parts = parts;
  }

  /** Stores all of it or nothing. */
  async accept(acceptance: Acceptance): Promise<void> {
    await this.working(this.#parts.store.accept(acceptance));
    this.#tell(acceptance);
  }

  /** Neither the clock advances nor `idle` resolves while something is being stored. */
  async working<T>(storing: Promise<T>): Promise<T> {
    const { clock, waiters } = this.#parts;
    const release = clock.hold();
    waiters.working();
    try {
      return await storing;
    } finally {
      release();
      waiters.worked();
    }
  }

  /** Tells that another delivery of a message is stored. */
  tellRepeat(
    original: DeliveryInfo,
    { id, acceptedAt }: { readonly id: string; readonly acceptedAt: number },
  ): void {
    const { messageId, type, source, destination, identity, event } = original;
    const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
    this.#parts.minutes.add("accepted");
    this.#parts.events.emit("accepted", { delivery, resendOf: original.id });
  }

  #tell({ messages, deliveries }: Acceptance): void {
    const { events, minutes } = this.#parts;
    if (deliveries.length > 0) minutes.add("accepted", deliveries.length);
    if (!events.has("accepted")) return;
    for (const { id, destination, message } of deliveries) {
      const about = messages[message];
      if (about === undefined) continue;
      const { messageId, type, source, identity, event, acceptedAt } = about;
      const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
      events.emit("accepted", { delivery });
    }
  }
}
