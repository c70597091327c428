import type { Clock } from "@countersign/protocol";
import type { DeliveryInfo, Settlement } from "../delivery/delivery.ts";
import type { RemoteEvent } from "../store/delivery-store.ts";
import type { SenderEvents } from "./sender-events.ts";

type EventName = keyof SenderEvents;
type Listener<K extends EventName> = (payload: SenderEvents[K]) => void;
type Listeners = { readonly [K in EventName]: Map<Listener<K>, { readonly once: boolean }> };

/** The events of a sender. What a listener throws is an uncaught exception, and never part of the engine's work. */
export class EventHub {
  readonly #clock: Pick<Clock, "now">;
  readonly #listeners: Listeners = {
    accepted: new Map(),
    attempt: new Map(),
    delivered: new Map(),
    retrying: new Map(),
    failed: new Map(),
    expired: new Map(),
    skipped: new Map(),
    failing: new Map(),
    recovered: new Map(),
    lost: new Map(),
    settings: new Map(),
    storeError: new Map(),
    storeState: new Map(),
  };
  /** The events of deliveries that are kept back, by the id of the delivery. */
  readonly #keptBack = new Map<string, (() => void)[]>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add<K extends EventName>(event: K, listener: Listener<K>, once: boolean): void {
    const listeners = this.#of(event);
    if (typeof listener !== "function") throw new TypeError(`The listener of "${event}" must be a function.`);
    // A listener of every event stays one, even if once() is called with it.
    listeners.set(listener, { once: once && listeners.get(listener)?.once !== false });
  }

  remove<K extends EventName>(event: K, listener: Listener<K>): void {
    this.#of(event).delete(listener);
  }

  /** Whether an event has a listener, for events that take work to create. */
  has(event: EventName): boolean {
    return this.#listeners[event].size > 0;
  }

  removeAll(): void {
    for (const listeners of Object.values(this.#listeners)) listeners.clear();
  }

  emit<K extends EventName>(event: K, payload: SenderEvents[K]): void {
    const listeners: Listeners[K] = this.#listeners[event];
    if (listeners.size === 0) return;
    // A copy: a listener that adds itself again would be called without end.
    const present = [...listeners];
    for (const [listener, { once }] of present) {
      if (!listeners.has(listener)) continue;
      if (once) listeners.delete(listener);
      try {
        listener(payload);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /**
   * Keeps back the results of these deliveries, so that `accepted` comes first.
   *
   * @returns Emits what was kept back. Call it after `accepted`.
   */
  keepBack(ids: readonly string[]): () => void {
    for (const id of ids) this.#keptBack.set(id, []);
    return () => {
      for (const id of ids) {
        const keptBack = this.#keptBack.get(id);
        this.#keptBack.delete(id);
        for (const tell of keptBack ?? []) tell();
      }
    };
  }

  /** Emits the result of a delivery after a round. */
  emitSettled(delivery: DeliveryInfo, settlement: Settlement): void {
    const keptBack = this.#keptBack.size === 0 ? undefined : this.#keptBack.get(delivery.id);
    if (keptBack !== undefined) {
      keptBack.push(() => this.emitSettled(delivery, settlement));
      return;
    }
    const { attempts } = settlement;
    if (settlement.state !== "pending") {
      this.emit(settlement.state, { delivery, attempts });
    } else if (attempts.length > 0) {
      const { dueAt } = settlement;
      this.emit("retrying", { delivery, attempts, dueAt, delayMs: Math.max(dueAt - this.#clock.now(), 0) });
    }
  }

  /** Emits the events of another process, as if they were this one's. */
  emitRemote(event: RemoteEvent): void {
    if (event.kind === "accepted") {
      this.emit("accepted", { delivery: event.delivery });
    } else if (event.kind === "skipped") {
      const { messageId, type, source, event: name, identity, reason } = event.call;
      this.emit("skipped", { messageId, type, source, event: name, identity, reason });
    } else {
      const { delivery, settlement } = event;
      for (const attempt of settlement.attempts) this.emit("attempt", { delivery, attempt });
      this.emitSettled(delivery, settlement);
    }
  }

  #of<K extends EventName>(event: K): Listeners[K] {
    const listeners: Listeners[K] | undefined = this.#listeners[event];
    if (listeners !== undefined) return listeners;
    throw new TypeError(
      `A sender has no event ${JSON.stringify(event)}. It has: ${Object.keys(this.#listeners).join(", ")}.`,
    );
  }
}
