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
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { RetryPolicy } from "../delivery/retry-policy.ts";
import type { StoreState } from "../store/delivery-store.ts";
import type { SkippedFilter, SkipReason } from "../delivery/skipped-call.ts";
import type { DeliveryPage, SkippedPage } from "./pages.ts";
import type { ResendAll, ResendOptions } from "./resend-options.ts";
import type { RetriedAll, RetryAll } from "./retry-options.ts";
import type { SenderSettings } from "../settings/settings.ts";
import type { CallOrigin } from "../calls/message.ts";
import type { SenderEvents } from "./sender-events.ts";
import type { SenderStats } from "./stats.ts";

/** A call that follows the rules of `@countersign/protocol`, with its time. Without an id it gets one. */
export interface JudgedCall extends Omit<RecordedCall, "messageId"> {
  /** 1 to 99 characters. Default: a new one. */
  readonly messageId?: string | undefined;
  /** How the call reached the sender, for destinations that include it. */
  readonly origin?: CallOrigin | undefined;
  /**
   * Identifies repeats of the call within its source, such as its type and messageId: at most 1,024 characters.
   * It counts with {@link AcceptOptions.uniqueFor}. A call without one is never a repeat.
   */
  readonly key?: string | undefined;
}

/** Which source a call belongs to. Needed when there are several. */
export interface CallOptions {
  /** Name of the source. */
  readonly source?: string | undefined;
  /** Write key of the source. */
  readonly writeKey?: string | undefined;
}

/** Options of {@link Sender.accept}. */
export interface AcceptOptions extends CallOptions {
  /**
   * Leaves out calls whose `key` the source had within this time, or an earlier call of the list has, and remembers the keys
   * of the others, in the transaction that stores them. Default: keys are ignored.
   */
  readonly uniqueFor?: Duration | undefined;
}

/** The result of an accepted call: its message and deliveries are stored. */
export interface Receipt {
  /** `messageId` of the message. */
  readonly messageId: string;
  /** Ids of its deliveries, one for each enabled destination. */
  readonly deliveries: readonly string[];
  /** Why the call has no delivery. */
  readonly skipped?: SkipReason | undefined;
  /** The call was left out: it had been accepted before (see {@link AcceptOptions.uniqueFor}). */
  readonly repeat?: true | undefined;
  /**
   * Waits until every delivery of the message has ended, in whichever state, and resolves to the deliveries
   * with their attempts. Rejects with a {@link SenderClosedError} if the sender closes first.
   *
   * It has no time limit. With a virtual clock, a delivery that is tried again waits until the test advances the clock:
   * do that first, or this never resolves. `expect(receipt).ended()` of a test sender waits for the same, but with a
   * time limit, and says what is missing.
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

/** The result of a sync of an audience or a computed trait. */
export interface SyncReceipt {
  /** Users who now have the trait, or another value of it, at a destination. */
  readonly changed: readonly string[];
  /** Users that left: their trait became `false` (audience) or `null` (computed trait). */
  readonly removed: readonly string[];
  /** Ids of the deliveries. */
  readonly deliveries: readonly string[];
  /** Why nothing was sent. The next sync with an enabled destination sends everything. */
  readonly skipped?: SkipReason | undefined;
  /** Like {@link Receipt.settled}. */
  settled(): Promise<readonly Delivery[]>;
}

/** Options of {@link Sender.close}. */
export interface CloseOptions {
  /**
   * How long closing may take, in physical time. Attempts in progress are aborted before its end: a quarter
   * of it, at least 100 ms and at most a second, is kept for closing. Default: `"10s"`.
   */
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
 * valid or a `StoreError` when it could not be stored. Then no part of it is kept. What reads or changes the store also rejects
 * with a `StoreError` when that fails. An unknown option is a `TypeError` everywhere. After `close()`, everything except
 * events, the properties and `close()` itself fails with a {@link SenderClosedError}.
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
   * Accepts calls that were checked before, such as those of an ingestion server, in one transaction: all are stored, or
   * none. Their size is not checked again, so what the server has merged into a call does not count.
   *
   * @param calls Calls that follow the rules of `@countersign/protocol`, with their time.
   * @returns The receipts, in the order of the calls. That of a repeat has `repeat: true`, and no deliveries.
   * @throws CallError when an item is not a recorded call, or no source fits the options
   * @throws StoreError `ERR_STORE_UNKNOWN` when the connection to the store broke, or its disk failed, and whether the calls were stored
   *   could not be found out. Accept them again with the same keys and `uniqueFor`: what was stored is then left out.
   * @example
   * ```ts
   * const receipts = await sender.accept(calls, { writeKey: "WK1", uniqueFor: "24h" });
   * ```
   */
  accept(calls: readonly JudgedCall[], options?: AcceptOptions): Promise<readonly Receipt[]>;
  /**
   * Sends a deletion notification for each affected source with an enabled destination (spec 1).
   *
   * @returns The receipts, one for each of these sources.
   * @throws CallError when the user or the time is not valid, or a source is not known
   */
  deleteUser(userId: string, options?: DeleteOptions): Promise<readonly Receipt[]>;
  /**
   * Sends an audience's changes: one Identify for each user who joined or left since the last sync (spec 6). A destination
   * that was enabled after it gets every member. Membership and messages are stored in one transaction.
   *
   * @param name The audience. The trait is its snake_case form, and belongs to the first name that uses it.
   * @param userIds Every member. Pass an empty list to remove all of them.
   * @throws TypeError when `userIds` is not an iterable of texts
   * @throws CallError `ERR_FIELD_INVALID` when the name has more than 255 characters, or it or a user has a lone surrogate
   * @throws CallError `ERR_NAME_TAKEN` when another audience or computed trait has the same snake_case form
   */
  syncAudience(name: string, userIds: Iterable<string>, options?: CallOptions): Promise<SyncReceipt>;
  /**
   * Sends a computed trait's changes: one Identify for each user whose value changed. Users that are not in `values` keep
   * their value; the value `null` removes it.
   *
   * @throws TypeError when `values` is neither a Map nor an object
   * @throws CallError `ERR_FIELD_INVALID` when the name has more than 255 characters, or it or a user has a lone surrogate
   * @throws CallError `ERR_NAME_TAKEN` when an audience or another computed trait has the same snake_case form
   */
  syncComputedTrait(
    name: string,
    values: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<SyncReceipt>;
  /** Calls `listener` with every event of a kind. */
  on<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this;
  /** Calls `listener` with the next event of a kind. */
  once<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this;
  /** Stops calling `listener`. */
  off<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this;
  /** Resolves when no delivery to an enabled destination is pending. With a virtual clock, advance it first. */
  idle(): Promise<void>;
  /**
   * Deliveries that the store keeps, the newest first, in full: with their bodies and attempts.
   *
   * @throws TypeError when the filter has an unknown field
   */
  deliveries(filter?: DeliveryFilter): Promise<readonly Delivery[]>;
  /**
   * A page of deliveries, the newest first, without bodies and responses.
   *
   * @throws TypeError when the filter has an unknown field, or its `after` is no cursor
   * @example
   * ```ts
   * const first = await sender.summaries({ state: ["failed", "expired"], since: Date.now() - 3_600_000 });
   * const second = await sender.summaries({ state: ["failed", "expired"], after: first.next });
   * ```
   */
  summaries(filter?: DeliveryFilter): Promise<DeliveryPage>;
  /**
   * How many deliveries match, whatever the limit of the filter.
   *
   * @throws TypeError when the filter has an unknown field
   */
  count(filter?: DeliveryFilter): Promise<number>;
  /**
   * A page of accepted calls that went to no destination, the newest first. The last 10,000 are kept.
   *
   * @throws TypeError when the filter has an unknown field, or its `after` is no cursor
   */
  skipped(filter?: SkippedFilter): Promise<SkippedPage>;
  /** One delivery, if the store keeps it. */
  delivery(id: string): Promise<Delivery | undefined>;
  /**
   * Sends a delivery again to the same destination, as a new one: the same bytes, or others.
   *
   * @throws RangeError when the store does not keep the delivery
   * @throws StoreError when another delivery has the `id` that is given
   * @throws TypeError when an option is wrong
   */
  resend(id: string, options?: ResendOptions): Promise<Receipt>;
  /**
   * Sends every delivery again that matches and was accepted before now: each once, whatever is accepted meanwhile.
   * One that has failed is left out if a copy of it was delivered or waits, so this can be repeated.
   *
   * Rejects when the store fails, or with the signal's reason. What was sent again by then stays so.
   *
   * @throws TypeError when the filter is empty or has an unknown field
   * @example
   * ```ts
   * await sender.resend({ filter: { state: "failed", since: Date.parse("2026-01-31T14:00:00Z") } });
   * ```
   */
  resend(what: ResendAll): Promise<{ readonly resent: number }>;
  /**
   * Tries a waiting delivery now. One to a destination that is disabled, or has no settings, starts when that is enabled.
   *
   * @returns whether it was made due: false when it has ended, is being sent, or is not kept
   */
  retry(id: string): Promise<boolean>;
  /**
   * Makes every delivery due now that matches and waits for a later time. They start in the order in which they were accepted, at
   * most `concurrency` of a destination at a time. A delivery that is being sent, or is due already, is left out, so this can be
   * repeated. Those to a destination that is disabled, or has no settings, start when that is enabled.
   *
   * Resolves before the attempts. Rejects when the store fails; the deliveries that were made due by then stay due.
   *
   * @returns how many were made due, and how many of these wait for their destination
   * @throws TypeError when the filter is missing, has an unknown field, or names states without `pending`
   * @example
   * ```ts
   * await sender.retry({ filter: { destination: "shop/webhooks" } });
   * ```
   */
  retry(what: RetryAll): Promise<RetriedAll>;
  /**
   * Removes deliveries that have ended and match the filter; all of them without one. A delivered copy stays as long as a
   * failed delivery of its message, so that {@link Sender.resend} does not send that again.
   *
   * @returns how many
   * @throws TypeError when the filter names the state `pending`, or has an unknown field
   */
  clear(filter?: Omit<DeliveryFilter, "after" | "limit">): Promise<number>;
  /** Usage, deliveries by state, outcomes and response times. */
  stats(): Promise<SenderStats>;
  /** The settings that apply now. */
  readonly settings: SenderSettings;
  /**
   * The version of the settings that apply now, the same in every process that shares the store: it grows by one with each
   * change. Undefined where one process owns the store, and after `configure()`, which is for this process alone, until shared
   * settings apply again.
   */
  readonly settingsVersion: number | undefined;
  /**
   * When failed deliveries are tried again, as it is in force now. Processes that share a store share it, so it may have come from
   * another one.
   *
   * @example
   * ```ts
   * const hours = sender.retryPolicy.windowMs / 3_600_000;
   * ```
   */
  readonly retryPolicy: RetryPolicy;
  /**
   * Replaces the settings of this process; the next try of each delivery follows them. Deliveries to a destination that
   * is disabled or removed wait until it comes back.
   *
   * @throws SettingsError naming everything that is wrong; the old settings then still apply.
   */
  configure(settings: SenderSettings): void;
  /**
   * Replaces the settings like `configure()`, in every process that shares the store: the others follow within a second.
   * Where one process owns the store, as with `sqliteStore`, it is the same as `configure()`.
   *
   * @throws SettingsError naming everything that is wrong; the old settings then still apply.
   * @throws SettingsChangedError when another process has changed the settings since this one read them; `settings` has
   *   them then.
   */
  update(settings: SenderSettings): Promise<void>;
  /** Whether the store can be used, as far as is known. */
  readonly storeState: StoreState;
  /**
   * Waits for attempts in progress, aborts those that take too long, and closes everything by the deadline. With a
   * store on disk, pending deliveries continue at the next start. Idempotent.
   *
   * @throws CloseError when the transport or the store has not closed by the deadline, or else what it throws itself; everything else
   *   is closed
   */
  close(options?: CloseOptions): Promise<void>;
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The sender is closed, or was closed while you waited. */
export class SenderClosedError extends Error {
  override readonly name = "SenderClosedError";
  /** Stable, for programs. */
  readonly code = "ERR_SENDER_CLOSED";
}
