import { clearTimeout, setTimeout } from "node:timers";
import { messageOf } from "@countersign/protocol";
import type {
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  DeliveryStore,
  StoreContext,
  StoreSpace,
  StoreState,
} from "./delivery-store.ts";
import { StoreError } from "./store-error.ts";

/** How long a store that could not be opened is left alone before it is tried again, in physical milliseconds. */
const REOPEN_AFTER_MS = 2_000;

/** One of several stores, which may be unreachable while the others work. */
export class Shard {
  readonly name: string;
  readonly #store: DeliveryStore;
  /** What waits for the store to be open. */
  readonly #waiting = new Set<() => void>();
  #openError: unknown;
  #isOpen = false;
  #isOpening = false;
  #isClosed = false;
  #reopening: NodeJS.Timeout | undefined;
  #counts: ReadonlyMap<string, DeliveryCounts> = new Map();
  #usage: ReadonlyMap<string, number> = new Map();
  state: StoreState = { state: "up" };

  constructor(name: string, store: DeliveryStore) {
    this.name = name;
    this.#store = store;
  }

  /** The store, to be asked something. */
  get store(): DeliveryStore {
    if (this.#isOpen) return this.#store;
    throw new StoreError(
      this.#isClosed ? "ERR_STORE_CLOSED" : "ERR_STORE_OPEN",
      `The store ${JSON.stringify(this.name)} is not open.`,
      this.#openError,
    );
  }

  get settings(): DeliveryStore["settings"] {
    return this.#store.settings;
  }

  async open(context: StoreContext): Promise<number> {
    this.#isOpening = true;
    const { generation } = await this.#store.open(context).finally(() => (this.#isOpening = false));
    this.#isOpen = true;
    for (const start of this.#waiting) start();
    this.#waiting.clear();
    return generation;
  }

  /** Opens it now or, where that fails, as soon as it can be: the others need not wait for it. */
  async openWhenPossible(context: StoreContext): Promise<void> {
    try {
      await this.open(context);
      if (this.#openError !== undefined) context.stateChanged({ state: "up" });
    } catch (error) {
      this.#openError = error;
      if (this.#isClosed) return;
      const reason = messageOf(error);
      context.stateChanged({ state: "down", reason });
      this.#reopening = setTimeout(() => void this.openWhenPossible(context), REOPEN_AFTER_MS);
    }
  }

  /** Serves a destination, from when the store is open. */
  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    let consumer: Consumer | undefined;
    const start = (): void => {
      consumer = this.#store.consume(destination, concurrency, handler);
    };
    if (this.#isOpen) start();
    else this.#waiting.add(start);
    return {
      stop: async () => {
        this.#waiting.delete(start);
        await consumer?.stop();
      },
    };
  }

  /** The counts; those of the last time while it does not answer. */
  async counts(): Promise<ReadonlyMap<string, DeliveryCounts>> {
    try {
      this.#counts = await this.store.counts();
    } catch {
      // Its state has been told, and what is pending there stays pending.
    }
    return this.#counts;
  }

  /** The usage; that of the last time while it does not answer. */
  async usage(): Promise<ReadonlyMap<string, number>> {
    try {
      this.#usage = await this.store.usage();
    } catch {
      // As with the counts.
    }
    return this.#usage;
  }

  /** How full it is; unknown while it does not answer. */
  async space(): Promise<StoreSpace | undefined> {
    return this.#isOpen ? this.#store.space?.().catch(() => undefined) : undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reopening);
    this.#waiting.clear();
    const isToClose = this.#isOpen || this.#isOpening;
    this.#isOpen = false;
    if (isToClose) await this.#store.close();
  }
}
