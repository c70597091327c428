import type { SenderEvents } from "./sender-events.ts";

type EventName = keyof SenderEvents;
type Listener<K extends EventName> = (payload: SenderEvents[K]) => void;
type Listeners = { readonly [K in EventName]: Map<Listener<K>, { readonly once: boolean }> };

/** The events of a sender. What a listener throws is an uncaught exception, and never part of the engine's work. */
export class EventHub {
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

  add<K extends EventName>(event: K, listener: Listener<K>, once: boolean): void {
    const listeners = this.#of(event);
    if (typeof listener !== "function") throw new TypeError(`The listener of "${event}" must be a function.`);
    listeners.set(listener, { once });
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
    // Those that there are now: one that adds itself again would be called without end.
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

  #of<K extends EventName>(event: K): Listeners[K] {
    const listeners: Listeners[K] | undefined = this.#listeners[event];
    if (listeners !== undefined) return listeners;
    throw new TypeError(
      `A sender has no event ${JSON.stringify(event)}. It has: ${Object.keys(this.#listeners).join(", ")}.`,
    );
  }
}
