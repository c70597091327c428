import type { MessageType } from "@countersign/core";
import type { Clock } from "@countersign/protocol";
import type { Delivery, DeliveryFilter, EndState, DueDelivery, Settlement } from "../delivery/delivery.ts";

/** A message to store: its exact bytes, once for all of its deliveries. */
export interface NewMessage {
  readonly messageId: string;
  readonly type: MessageType;
  readonly source: string;
  readonly identity: string;
  readonly event?: string | undefined;
  readonly acceptedAt: number;
  readonly body: Uint8Array;
}

/** A delivery to store. It is due at once. */
export interface NewDelivery {
  readonly id: string;
  readonly destination: string;
  /** Position of its message in {@link Acceptance.messages}. */
  readonly message: number;
}

/** Who a trait's name belongs to. Two names may have one snake_case form; only the first may use it. */
export interface TraitOwner {
  readonly kind: "audience" | "computed trait";
  /** The name as it was given to the sync. */
  readonly name: string;
}

/** What the destinations of a source know of a trait. */
export interface KnownTrait {
  /** Undefined while no sync has claimed the name. */
  readonly owner: TraitOwner | undefined;
  /** JSON text of each user's value, by destination. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** What becomes known of a trait together with the messages that announce it. */
export interface TraitChanges {
  readonly source: string;
  readonly trait: string;
  readonly owner: TraitOwner;
  /** JSON text of each user's value, by destination; `null` forgets the value. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string | null>>;
}

/** What one call, or a list of them, adds to the store: all of it, or nothing. */
export interface Acceptance {
  readonly messages: readonly NewMessage[];
  readonly deliveries: readonly NewDelivery[];
  /** How much each source's usage grows. */
  readonly usage?: ReadonlyMap<string, number> | undefined;
  /** Traits that become known together with the messages that announce them. */
  readonly traits?: TraitChanges | undefined;
}

/** Takes the due deliveries of one destination. */
export interface DeliveryHandler {
  /** Runs one round. Never rejects. */
  deliver(due: DueDelivery): Promise<Settlement>;
  /** Called once the settlement is stored. Never throws. */
  settled(due: DueDelivery, settlement: Settlement): void;
}

/** A destination being served. */
export interface Consumer {
  /** Stops handing over, and resolves when every delivery that was handed over is settled. Idempotent. */
  stop(): Promise<void>;
}

/** What a store needs of the sender that opens it. */
export interface StoreContext {
  /** Where time comes from. A store that cannot follow a virtual clock throws in `open`. */
  readonly clock: Clock;
  /** Call it whenever a delivery has ended. */
  readonly ended: (id: string) => void;
  /** Call it when the store fails while no caller waits. */
  readonly failed: (error: Error) => void;
}

/** How many deliveries of one destination are in each state. */
export type DeliveryCounts = Record<"pending" | EndState, number>;

/**
 * Keeps accepted deliveries until they have ended, and for a time after.
 *
 * The store pushes: it hands the engine a delivery when it is due, and the engine answers that it has ended, or when it
 * is due again. A table with an index and a job queue both fit. Delivery is at least once: a delivery that was handed
 * over and not settled is handed over again after a restart.
 */
export interface DeliveryStore {
  /** Opens it. `generation` counts how often it was opened before, so that seeded ids are not repeated. */
  open(context: StoreContext): Promise<{ readonly generation: number }>;
  /** Resolves once everything is stored for good; rejects with nothing stored. */
  accept(acceptance: Acceptance): Promise<void>;
  /** Stores another delivery of a message that is still kept. Resolves to false when `id` is not known. */
  repeat(id: string, next: { readonly id: string; readonly acceptedAt: number }): Promise<boolean>;
  /** Starts to hand over the due deliveries of a destination, at most `concurrency` at a time, the longest due first. */
  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer;
  /** One delivery, with its attempts. */
  find(id: string): Promise<Delivery | undefined>;
  /** Deliveries, the newest first. */
  list(filter: DeliveryFilter): Promise<readonly Delivery[]>;
  /** Counts for each destination that has deliveries kept. */
  counts(): Promise<ReadonlyMap<string, DeliveryCounts>>;
  /** The usage of each source. */
  usage(): Promise<ReadonlyMap<string, number>>;
  /** What these destinations know of a trait. A destination that knows nothing of it may be absent. */
  traits(source: string, trait: string, destinations: readonly string[]): Promise<KnownTrait>;
  /** Writes what is left and closes everything. Idempotent. */
  close(): Promise<void>;
}
