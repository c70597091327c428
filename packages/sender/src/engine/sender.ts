import type { MessageType } from "@countersign/core";
import type {
  AliasCall,
  Duration,
  GroupCall,
  IdentifyCall,
  PageCall,
  RecordedCall,
  ScreenCall,
  TrackCall,
} from "@countersign/protocol";
import type { Attempt } from "../delivery/attempt.ts";
import type { Delivery, DeliveryFilter, DeliveryInfo } from "../delivery/delivery.ts";
import type { SenderSettings } from "../settings/settings.ts";
import type { SenderStats } from "./stats.ts";

/** A call that follows the rules of `@countersign/protocol`, with its time. Without an id it gets one. */
export interface JudgedCall extends Omit<RecordedCall, "messageId"> {
  readonly messageId?: string | undefined;
}

/** Which source a call belongs to. Needed when there are several. */
export interface CallOptions {
  /** Name of the source. */
  readonly source?: string | undefined;
  /** Write key of the source. */
  readonly writeKey?: string | undefined;
}

/**
 * Why a message goes to no destination.
 *
 * | reason | meaning |
 * |---|---|
 * | `integrations` | the call's `integrations` turn the destination `Webhooks` off |
 * | `blocked_event` | the source blocks track events of this name |
 * | `no_destination` | the source has no enabled destination |
 */
export type SkipReason = "integrations" | "blocked_event" | "no_destination";

/** Proof that a call was accepted: what it leads to is stored. */
export interface Receipt {
  /** `messageId` of the message. */
  readonly messageId: string;
  /** Ids of its deliveries, one for each enabled destination. */
  readonly deliveries: readonly string[];
  /** Why there is no delivery, when there is none. */
  readonly skipped?: SkipReason | undefined;
  /**
   * Resolves when every delivery of the message has ended, whichever way; to the deliveries with their attempts.
   * Rejects with a {@link SenderClosedError} if the sender closes before.
   *
   * Waits for as long as that takes. Under a virtual clock, a delivery that has to be tried again waits until the test
   * advances the clock: do that before you await this, or it never resolves. `sender.expect(receipt).ended()` waits
   * for the same, gives up after a while, and says what is missing.
   *
   * @example
   * ```ts
   * const clock = virtualClock();
   * const sender = await createSender({ url: "https://example.com/hooks", clock });
   * const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
   * await clock.advance("4h");
   * const deliveries = await receipt.settled();
   * ```
   */
  settled(): Promise<readonly Delivery[]>;
}

/** What a sync of an audience or a computed trait came to. */
export interface SyncReceipt {
  /** Users that now have the trait, or have another value for it. */
  readonly changed: readonly string[];
  /** Users that left: their trait became `false` (audience) or `null` (computed trait). */
  readonly removed: readonly string[];
  /** Ids of the deliveries. */
  readonly deliveries: readonly string[];
  /** Why nothing was done: without an enabled destination, the next sync that has one sends everything. */
  readonly skipped?: SkipReason | undefined;
  /** Like {@link Receipt.settled}. */
  settled(): Promise<readonly Delivery[]>;
}

/** The events of a sender, each with what its listeners are given. */
export interface SenderEvents {
  /** An attempt has ended. It is not stored yet. */
  attempt: { readonly delivery: DeliveryInfo; readonly attempt: Attempt };
  /** An endpoint took the message, and that is stored. */
  delivered: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /** No endpoint took the message in this round; the next round is stored. `delayMs` counts from now. */
  retrying: {
    readonly delivery: DeliveryInfo;
    readonly attempts: readonly Attempt[];
    readonly dueAt: number;
    readonly delayMs: number;
  };
  /** Every endpoint refused the message for good, and that is stored. */
  failed: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /** No endpoint took the message in time, and that is stored. `attempts` are those of the last round. */
  expired: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /** A call was accepted that goes to no destination. */
  skipped: {
    readonly messageId: string;
    readonly type: MessageType;
    readonly source: string;
    readonly reason: SkipReason;
  };
  /** The store failed where no caller could be told. What was accepted stays accepted and is tried again. */
  storeError: { readonly error: Error };
}

/** Options of {@link Sender.close}. */
export interface CloseOptions {
  /** How long attempts under way may take to end before they are given up, in physical time. Default: `"10s"`. */
  readonly deadline?: Duration | undefined;
}

/** Options of {@link Sender.deleteUser}. */
export interface DeleteOptions {
  /** Names of the sources the user appears in. Default: every source. */
  readonly sources?: readonly string[] | undefined;
  /** When the deletion was requested. Default: the sender's time. */
  readonly timestamp?: Date | string | undefined;
}

/**
 * Forwards calls as signed webhook messages (spec 1, 2, 6). Made by `createSender`.
 *
 * Every call resolves once the message and its deliveries are stored, and rejects with a `CallError` when it is not
 * valid or a `StoreError` when it could not be stored; then nothing of it is kept. An option that does not exist is a
 * `TypeError` everywhere.
 */
export interface Sender {
  /** Says who a user is. */
  identify(call: IdentifyCall, options?: CallOptions): Promise<Receipt>;
  /** Says what a user did. */
  track(call: TrackCall, options?: CallOptions): Promise<Receipt>;
  /** Says which page a user saw. */
  page(call: PageCall, options?: CallOptions): Promise<Receipt>;
  /** Says which screen a user saw. */
  screen(call: ScreenCall, options?: CallOptions): Promise<Receipt>;
  /** Says which group a user belongs to. */
  group(call: GroupCall, options?: CallOptions): Promise<Receipt>;
  /** Says that two IDs are one user. */
  alias(call: AliasCall, options?: CallOptions): Promise<Receipt>;
  /**
   * Takes calls that were judged before, as an ingestion server has them, in one transaction: all are stored, or none.
   * Their size is not counted again, so that what the server has merged into a call (up to 32 KiB) does not count.
   *
   * @param calls Calls that follow the rules of `@countersign/protocol`, with their time.
   * @returns The receipts, in the order of the calls.
   * @throws CallError when an item is not a recorded call, or no source fits the options
   * @example
   * ```ts
   * const receipts = await sender.accept(calls, { writeKey: "WK1" });
   * ```
   */
  accept(calls: readonly JudgedCall[], options?: CallOptions): Promise<readonly Receipt[]>;
  /** Sends a deletion notification for each affected source with an enabled destination (spec 1). */
  deleteUser(userId: string, options?: DeleteOptions): Promise<readonly Receipt[]>;
  /**
   * Makes an audience's members known: one Identify for each user who joined or left since the last sync (spec
   * section 6). Membership and messages are stored in one transaction.
   */
  syncAudience(name: string, userIds: Iterable<string>, options?: CallOptions): Promise<SyncReceipt>;
  /**
   * Makes a computed trait's values known: one Identify for each user whose value changed. A user who is not in
   * `values` is left alone; the value `null` takes the trait away.
   */
  syncComputedTrait(
    name: string,
    values: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<SyncReceipt>;
  /** Calls `listener` on every event of a kind. */
  on<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this;
  /** Calls `listener` on the next event of a kind. */
  once<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this;
  /** Stops calling `listener`. */
  off<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this;
  /** Resolves when no delivery to an enabled destination is pending. Never does while one waits for a virtual clock. */
  idle(): Promise<void>;
  /**
   * Deliveries that the store keeps, the newest first.
   *
   * @throws TypeError when the filter has a field that does not exist
   */
  deliveries(filter?: DeliveryFilter): Promise<readonly Delivery[]>;
  /** One delivery, if the store keeps it. */
  delivery(id: string): Promise<Delivery | undefined>;
  /** Sends the same bytes again to the same destination, as a new delivery. */
  resend(id: string): Promise<Receipt>;
  /** What was done and is left to do. */
  stats(): Promise<SenderStats>;
  /** The settings in force. */
  readonly settings: SenderSettings;
  /**
   * Replaces the settings; the next attempt of each delivery follows them. Deliveries to a destination that is
   * disabled or gone wait, in case it comes back.
   *
   * @throws SettingsError naming everything that is wrong; the old settings then stay in force.
   */
  configure(settings: SenderSettings): void;
  /** Lets attempts under way end, then lets go of everything. What is unfinished goes on at the next start. Idempotent. */
  close(options?: CloseOptions): Promise<void>;
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Something was asked of a sender that is closed, or waited for until it was. */
export class SenderClosedError extends Error {
  override readonly name = "SenderClosedError";
  /** Stable, for programs. */
  readonly code = "ERR_SENDER_CLOSED";
}
