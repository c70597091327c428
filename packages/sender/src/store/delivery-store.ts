import type { MessageType } from "@countersign/core";
import type { Clock } from "@countersign/protocol";
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type {
  Delivery,
  DeliveryInfo,
  DeliverySummary,
  DueDelivery,
  EndState,
  Settlement,
} from "../delivery/delivery.ts";
import type { SkippedCall, SkippedFilter, SkipReason } from "../delivery/skipped-call.ts";
import type { StoredPart } from "./stored-part.ts";
import type { TraitOwner } from "./trait-owner.ts";

/** A call to store, whether it has messages or not. */
export interface NewCall {
  readonly source: string;
  readonly messageId: string;
  readonly type: MessageType;
  readonly identity: string;
  readonly event?: string | undefined;
  /** In milliseconds since 1970. */
  readonly acceptedAt: number;
  /** Calls of a source with the same key are repeats of each other. A call without one is never a repeat. */
  readonly key?: string | undefined;
  /** Whether it adds one to its source's usage. */
  readonly counted: boolean;
  /** Why it has no message, if it is kept for `skipped()`; `id` is unique and increases with time. */
  readonly skipped?: { readonly id: string; readonly reason: SkipReason } | undefined;
}

/** A message to store: its exact bytes, once for all of its deliveries. */
export interface NewMessage {
  readonly messageId: string;
  readonly type: MessageType;
  readonly source: string;
  readonly identity: string;
  readonly event?: string | undefined;
  /** In milliseconds since 1970. */
  readonly acceptedAt: number;
  readonly body: Uint8Array;
  /** Position of its call in {@link Acceptance.calls}. */
  readonly call: number;
}

/** The message that a delivery sends when it is sent again with another content. */
export type NewMessageContent = Pick<NewMessage, "messageId" | "type" | "identity" | "event" | "body">;

/** A delivery to store. It is due at once. */
export interface NewDelivery {
  /** Unique in the store. */
  readonly id: string;
  /** `<source>/<destination>`. */
  readonly destination: string;
  /** Position of its message in {@link Acceptance.messages}. */
  readonly message: number;
}

/** A delivery to the same destination as another one, of the same message or a changed one. It is due at once. */
export interface NextDelivery {
  /**
   * Unique in the store. A caller may have chosen it. A store without transactions over several sources refuses it once a
   * delivery of another source has it, and keeps both if two sources get it at the same instant.
   */
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly acceptedAt: number;
  /** The changed message. Default: that of the other delivery. */
  readonly message?: NewMessageContent | undefined;
}

/** The values of a trait that the destinations of a source know. */
export interface KnownTrait {
  /** Undefined while no sync has claimed the name. */
  readonly owner: TraitOwner | undefined;
  /** JSON text of each user's value, by destination. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Changes whenever the values or the owner change. */
  readonly version: string;
}

/** What becomes known of a trait together with the messages that announce it. */
export interface TraitChanges {
  readonly source: string;
  readonly trait: string;
  readonly owner: TraitOwner;
  /** JSON text of each user's value, by destination; `null` forgets the value. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string | null>>;
  /** The version that `traits()` gave. If it is another one by now, nothing is stored: `ERR_STORE_CHANGED`. */
  readonly version: string;
}

/** The data that one call, or a list of them, adds to the store: all of it, or none. */
export interface Acceptance {
  readonly calls: readonly NewCall[];
  readonly messages: readonly NewMessage[];
  readonly deliveries: readonly NewDelivery[];
  /** Traits that become known together with the messages that announce them. */
  readonly traits?: TraitChanges | undefined;
  /**
   * Leaves out calls, with their messages, deliveries and usage, whose key their source had within this time, in
   * milliseconds, or has earlier in this acceptance. The same transaction remembers the keys of the others. Without it, keys
   * are neither checked nor remembered.
   */
  readonly uniqueForMs?: number | undefined;
}

/** The result of an {@link Acceptance}. */
export interface Accepted {
  /** Positions of the calls that were left out as repeats, in increasing order. */
  readonly repeats: readonly number[];
}

/** Takes the due deliveries of one destination. */
export interface DeliveryHandler {
  /**
   * Runs one round. Never rejects.
   *
   * @param signal Is aborted when the claim was lost: another process delivers, and the settlement will be refused.
   */
  deliver(due: DueDelivery, signal: AbortSignal): Promise<Settlement>;
  /** Called once the settlement is stored. Never throws. */
  settled(due: DueDelivery, settlement: Settlement): void;
  /** Called instead when the claim was lost: the attempts are logged, the state is not changed. Never throws. */
  lost(due: DueDelivery, settlement: Settlement): void;
}

/** The order of a list: by `acceptedAt`, then by id. */
export type ListOrder = "newest first" | "oldest first";

/** A destination being served. */
export interface Consumer {
  /** Stops handing over, and resolves when every delivery that was handed over is settled. Idempotent. */
  stop(): Promise<void>;
}

/** Something that another process on the same store did. Bodies and responses may be left out. */
export type RemoteEvent =
  | { readonly kind: "accepted"; readonly delivery: DeliveryInfo }
  | { readonly kind: "settled"; readonly delivery: DeliveryInfo; readonly settlement: Settlement }
  | { readonly kind: "skipped"; readonly call: SkippedCall };

/**
 * Whether a store can be used.
 *
 * | state | meaning |
 * |---|---|
 * | `up` | it answers |
 * | `down` | it does not answer, or cannot write; the store tries again by itself |
 * | `unsafe` | it answers, but nothing is delivered because that could repeat or lose something; `reason` says what to do |
 */
export interface StoreState {
  readonly state: "up" | "down" | "unsafe";
  /** The reason, as text. Of a store that is up: its limitation. */
  readonly reason?: string | undefined;
}

/** The functions of a sender that its store needs. None of them throws. */
export interface StoreContext {
  /** The source of the time. A store that cannot follow a virtual clock throws in `open`. */
  readonly clock: Clock;
  /** Call it whenever a delivery has ended, in whichever process. It may be called twice for one. */
  readonly ended: (id: string) => void;
  /** Call it when an end in another process may have been missed: waiting code asks again. */
  readonly missed: () => void;
  /** Call it with the events of other processes, in their order, as far as they are known. */
  readonly told: (event: RemoteEvent) => void;
  /** Call it when the store fails while no caller waits. */
  readonly failed: (error: Error) => void;
  /** Call it when the state has changed, with `up` after opening. */
  readonly stateChanged: (state: StoreState) => void;
}

/** How much a store has of the room that it is limited to. */
export interface StoreSpace {
  /** What it takes now, in bytes: ended deliveries, too, though they make room for new ones. */
  readonly usedBytes: number;
  /** The most that it may take, in bytes. It refuses calls before that, so that there is room to record how deliveries end. */
  readonly limitBytes: number;
}

/** How many deliveries of one destination are in each state, and when the pending ones are due. */
export interface DeliveryCounts extends Record<"pending" | EndState, number> {
  /** When the oldest pending delivery was accepted, in milliseconds since 1970. */
  readonly oldestPendingAt?: number | undefined;
  /** When the first of the pending deliveries is due, in milliseconds since 1970. */
  readonly nextDueAt?: number | undefined;
}

/** Settings that all processes on a store share. */
export interface SharedSettings {
  /** The settings as they are now; undefined before the first `put`. */
  get(): Promise<{ readonly version: number; readonly text: string } | undefined>;
  /**
   * Replaces them.
   *
   * @param version The version that was read; 0 when there was none.
   * @returns the new version
   * @throws StoreError `ERR_STORE_CHANGED` when they have another version by now
   */
  put(version: number, text: string): Promise<number>;
  /**
   * Calls `listener` when another process has replaced them; returns a function that stops it. A sender calls it when it has read the
   * settings and put its own: that ends the opening of the store.
   */
  watch(listener: (version: number) => void): () => void;
}

/**
 * Keeps accepted deliveries until they have ended, and for a time after.
 *
 * The store pushes: it passes a delivery to the engine when it is due, and the engine answers that it has ended, or when it is
 * due again. A table with an index and a job queue both suit. Delivery is at least once: a delivery that was handed over and
 * not settled is handed over again after a restart.
 *
 * A store where claiming is asynchronous holds the clock (`clock.hold()`) from the moment something may be due until it is
 * handed over.
 */
export interface DeliveryStore {
  /**
   * Opens it, and tries again for a time while it is unreachable. `generation` counts how often it was opened before, so that
   * seeded ids are not repeated.
   */
  open(context: StoreContext): Promise<{ readonly generation: number }>;
  /**
   * Resolves once everything is stored durably; rejects with nothing stored.
   *
   * @throws StoreError `ERR_STORE_UNKNOWN` when whether it was stored is not known. To repeat the same acceptance, with
   *   the same ids, is harmless: it is stored once. `ERR_STORE_CHANGED` when the version of its traits is old.
   */
  accept(acceptance: Acceptance): Promise<Accepted>;
  /**
   * Stores another delivery of a message that is still kept, to the same destination; of another message when it is
   * given. Resolves to false when `id` is not known.
   *
   * @param source That of the delivery `id`. Without it, the one that `find` gives is repeated.
   * @throws StoreError when a delivery has the id of the new one: whoever stored that one tells of it.
   */
  repeat(id: string, next: NextDelivery, source?: string): Promise<boolean>;
  /**
   * Makes a waiting delivery due now, also for endpoints that asked to be called later. One that is due already keeps its place
   * among the others. Resolves to false when it is not pending or is being delivered.
   *
   * @param source That of the delivery. Without it, the one that `find` gives is meant.
   */
  hasten(id: string, source?: string): Promise<boolean>;
  /**
   * Makes those of these deliveries due at a time that wait for a later one, like `hasten`. Leaves out what is not
   * pending, is being delivered, or is due by then or by now; returns how many it changed. Of several callers at once, one
   * changes a delivery and counts it, whichever began first.
   *
   * @param deliveries At most 1,000.
   * @param dueAt When the caller began, in milliseconds since 1970.
   */
  hastenAll(deliveries: readonly Pick<DeliveryInfo, "id" | "source">[], dueAt: number): Promise<number>;
  /**
   * Removes deliveries that have ended and match, the newest `limit` of them; returns how many. A delivered copy stays as long
   * as a delivery of the same `messageId` to the same destination that failed or expired: otherwise a resend would take that for
   * one that never arrived.
   */
  remove(filter: DeliveryFilter): Promise<number>;
  /**
   * Starts to hand over the due deliveries of a destination, at most `concurrency` at a time in all processes, the longest
   * due first.
   */
  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer;
  /**
   * One delivery, with its attempts. `source` helps a store that is divided by source. Without it, and with the id in two sources
   * ({@link NextDelivery}), it is the one of both that was accepted first.
   */
  find(id: string, source?: string): Promise<Delivery | undefined>;
  /** Deliveries without bodies, the newest first unless told otherwise. A cursor is a place in the same order. */
  list(filter: DeliveryFilter, order?: ListOrder): Promise<readonly DeliverySummary[]>;
  /** How many deliveries match, `limit` and `after` aside. */
  count(filter: DeliveryFilter): Promise<number>;
  /** Calls that went to no destination, the newest first. They are kept like ended deliveries, the last 10,000 at most. */
  skipped(filter: SkippedFilter): Promise<readonly SkippedCall[]>;
  /** Counts for each destination that has deliveries kept. */
  counts(): Promise<ReadonlyMap<string, DeliveryCounts>>;
  /** The usage of each source. */
  usage(): Promise<ReadonlyMap<string, number>>;
  /**
   * How full it is. Each scrape of `/metrics` asks: the answer may not take longer the more is kept. Absent, or undefined, if the
   * store has no limit of its own.
   */
  space?(): Promise<StoreSpace | undefined>;
  /** What these destinations know of a trait. A destination that knows nothing of it may be absent. */
  traits(source: string, trait: string, destinations: readonly string[]): Promise<KnownTrait>;
  /**
   * Takes over a part of what another store has kept, with its ids, states and times. To take it twice is harmless. What this store
   * knows already stays as it is. Absent if it cannot.
   */
  take?(part: StoredPart): Promise<void>;
  /**
   * Why it can keep nothing of a source, as a sentence that begins with a verb: settings with such a source are refused. Undefined
   * if it can. Absent if it keeps every source.
   */
  refuses?(source: string): string | undefined;
  /** Absent if one process owns the store. */
  readonly settings?: SharedSettings | undefined;
  /** Writes the remaining data and closes everything. Idempotent. */
  close(): Promise<void>;
}
