import type { Delivery } from "../delivery/delivery.ts";
import { SenderClosedError } from "./sender.ts";

interface Waiter {
  readonly wake: () => void;
  readonly fail: (error: Error) => void;
}

/** What the waiters look up in the store. */
export interface WaiterSource {
  find(id: string): Promise<Delivery | undefined>;
  /** How many deliveries are pending to enabled destinations. */
  countPending(): Promise<number>;
}

/**
 * Callers that wait for deliveries to end, or for the sender to be idle. Costs nothing for a delivery that nobody waits
 * for.
 */
export class Waiters {
  readonly #source: WaiterSource;
  readonly #byDelivery = new Map<string, Set<Waiter>>();
  #forIdle: Waiter[] = [];
  #working = 0;
  #isClosed = false;

  constructor(source: WaiterSource) {
    this.#source = source;
  }

  /** Resolves to the deliveries when all have ended. */
  settled(ids: readonly string[]): Promise<readonly Delivery[]> {
    return Promise.all(ids.map((id) => this.#settledOne(id)));
  }

  /** Resolves when nothing is being accepted and nothing is pending. */
  async idle(): Promise<void> {
    for (;;) {
      // Registered before counting, or a change between the two would be missed.
      const change = new Promise<void>((wake, fail) => this.#forIdle.push({ wake, fail }));
      change.catch(() => {});
      if (this.#working === 0 && (await this.#source.countPending()) === 0 && this.#working === 0) return;
      await change;
    }
  }

  /** Wakes those who wait for a delivery that has ended. */
  ended(id: string): void {
    const waiters = this.#byDelivery.get(id);
    if (waiters !== undefined) {
      this.#byDelivery.delete(id);
      for (const { wake } of waiters) wake();
    }
    if (this.#forIdle.length > 0) this.changed();
  }

  /** Something may have become idle. */
  changed(): void {
    for (const { wake } of this.#forIdle.splice(0)) wake();
  }

  /** Something is being accepted, until `worked()`. */
  working(): void {
    this.#working += 1;
  }

  worked(): void {
    this.#working -= 1;
    if (this.#forIdle.length > 0) this.changed();
  }

  /** Fails everyone who still waits. */
  close(): void {
    this.#isClosed = true;
    for (const [id, waiters] of this.#byDelivery) for (const { fail } of waiters) fail(closedError(id));
    this.#byDelivery.clear();
    const notIdle = new SenderClosedError("The sender was closed before it was idle.");
    for (const { fail } of this.#forIdle.splice(0)) fail(notIdle);
  }

  async #settledOne(id: string): Promise<Delivery> {
    if (this.#isClosed) throw closedError(id);
    let waiter: Waiter | undefined;
    // Registered before the store is asked, or an end between the two would be missed.
    const end = new Promise<void>((wake, fail) => {
      waiter = { wake, fail };
      const waiters = this.#byDelivery.get(id) ?? new Set();
      this.#byDelivery.set(id, waiters.add(waiter));
    });
    // The sender may close while the store is asked, when nobody listens to this promise yet.
    end.catch(() => {});
    let delivery = await this.#source.find(id);
    if (delivery?.state === "pending") {
      await end;
      delivery = await this.#source.find(id);
    } else if (waiter !== undefined) {
      this.#forget(id, waiter);
    }
    if (delivery !== undefined) return delivery;
    throw new RangeError(`Delivery ${id} has ended, and the store no longer keeps it.`);
  }

  #forget(id: string, waiter: Waiter): void {
    const waiters = this.#byDelivery.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#byDelivery.delete(id);
  }
}

function closedError(id: string): SenderClosedError {
  return new SenderClosedError(
    `The sender was closed before delivery ${id} was known to have ended. A store on disk keeps it; it continues at the next start.`,
  );
}
