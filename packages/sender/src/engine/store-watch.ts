import type { StoreState } from "../store/delivery-store.ts";
import type { EventHub } from "./event-hub.ts";

/** Remembers whether the store can be used, and reports when that changes. */
export class StoreWatch {
  readonly #events: EventHub;
  #state: StoreState = { state: "up" };

  constructor(events: EventHub) {
    this.#events = events;
  }

  get state(): StoreState {
    return this.#state;
  }

  readonly changed = (state: StoreState): void => {
    const { state: before, reason } = this.#state;
    this.#state = state;
    if (state.state !== before || state.reason !== reason) this.#events.emit("storeState", state);
  };
}
