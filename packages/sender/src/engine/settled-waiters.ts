import type { Delivery } from "../delivery/delivery.ts";
import { SenderClosedError } from "../sender-closed-error.ts";

interface Waiter {
  readonly wake: () => void;
  readonly fail: (error: Error) => void;
}

/** Those who wait for deliveries to end. Costs nothing for a delivery that nobody waits for. */
export class SettledWaiters {
  readonly #find: (id: string) => Promise<Delivery | undefined>;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #isClosed = false;

  constructor(find: (id: string) => Promise<Delivery | undefined>) {
    this.#find = find;
  }

  /** Resolves to the deliveries when all have ended. */
  wait(ids: readonly string[]): Promise<readonly Delivery[]> {
    return Promise.all(ids.map((id) => this.#waitFor(id)));
  }

  /** Tells those who wait for a delivery that it has ended. */
  ended(id: string): void {
    const waiters = this.#waiters.get(id);
    this.#waiters.delete(id);
    for (const { wake } of waiters ?? []) wake();
  }

  /** Fails everyone who still waits. */
  close(): void {
    this.#isClosed = true;
    for (const [id, waiters] of this.#waiters) for (const { fail } of waiters) fail(closedError(id));
    this.#waiters.clear();
  }

  async #waitFor(id: string): Promise<Delivery> {
    if (this.#isClosed) throw closedError(id);
    let waiter: Waiter | undefined;
    // Registered before the store is asked, or an end between the two would be missed.
    const end = new Promise<void>((wake, fail) => {
      waiter = { wake, fail };
      const waiters = this.#waiters.get(id) ?? new Set();
      this.#waiters.set(id, waiters.add(waiter));
    });
    // The sender may close while the store is asked, when nobody listens to this promise yet.
    end.catch(() => {});
    const now = await this.#find(id);
    if (now?.state === "pending") {
      await end;
      return kept(await this.#find(id), id);
    }
    if (waiter !== undefined) this.#forget(id, waiter);
    return kept(now, id);
  }

  #forget(id: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(id);
  }
}

function closedError(id: string): SenderClosedError {
  return new SenderClosedError(
    `The sender was closed before delivery ${id} was known to have ended. A store on disk keeps it: it goes on at the next start.`,
  );
}

function kept(delivery: Delivery | undefined, id: string): Delivery {
  if (delivery !== undefined) return delivery;
  throw new RangeError(`Delivery ${id} has ended, and is not kept by the store any more.`);
}
