import { warnOfSecrets } from "@countersign/core";
import {
  type AliasCall,
  type Calls,
  type CallType,
  type GroupCall,
  type IdentifyCall,
  type PageCall,
  parseDuration,
  type ScreenCall,
  type TrackCall,
} from "@countersign/protocol";
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { RetryPolicy } from "../delivery/retry-policy.ts";
import { keptSettings } from "../settings/kept-settings.ts";
import { shownMasked } from "../settings/mask-settings.ts";
import type { SkippedFilter } from "../delivery/skipped-call.ts";
import { parseSettings, type Source } from "../settings/parse-settings.ts";
import type { StoreState } from "../store/delivery-store.ts";
import type { SenderSettings } from "../settings/settings.ts";
import { Acceptor } from "./acceptor.ts";
import type { CallIntake } from "./call-intake.ts";
import { checkCloseOptions } from "./check-options.ts";
import { closeParts } from "./close-parts.ts";
import type { Engine, EngineParts } from "./engine.ts";
import { DeliveryReader } from "./delivery-reader.ts";
import type { DeliveryPage, SkippedPage } from "./pages.ts";
import { ProfileSyncer } from "./profile-sync.ts";
import { Recovery } from "./recovery.ts";
import type { ResendAll, ResendOptions } from "./resend-options.ts";
import type { RetriedAll, RetryAll } from "./retry-options.ts";
import type { SettingsKeeper } from "./settings-keeper.ts";
import {
  type AcceptOptions,
  type CallOptions,
  type CloseOptions,
  type DeleteOptions,
  type JudgedCall,
  type Receipt,
  type Sender,
  SenderClosedError,
  type SyncReceipt,
} from "./sender.ts";
import type { SenderEvents } from "./sender-events.ts";
import { collectStats, type SenderStats } from "./stats.ts";
import type { Waiters } from "./waiters.ts";

/** The parts of a forwarder, besides the parts of its engine. */
export interface ForwarderParts extends EngineParts {
  readonly engine: Engine;
  readonly intake: CallIntake;
  readonly waiters: Waiters;
  readonly keeper: SettingsKeeper;
  readonly storeWatch: { readonly state: StoreState };
}

const DEFAULT_CLOSE_MS = 10_000;

const CLOSED = "The sender is closed. Create a new one; a store on disk continues where this one stopped.";

/** The sender: takes calls in, and gives everything else to the part that knows about it. */
export class Forwarder implements Sender {
  readonly #parts: ForwarderParts;
  readonly #acceptor: Acceptor;
  readonly #profiles: ProfileSyncer;
  readonly #reader: DeliveryReader;
  readonly #recovery: Recovery;
  #settings: SenderSettings;
  /** Whether the settings are of `configure()`, so that other processes have others. */
  #isLocal = false;
  #closing: Promise<void> | undefined;

  constructor(parts: ForwarderParts, settings: SenderSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#acceptor = new Acceptor(parts);
    this.#profiles = new ProfileSyncer({ ...parts, acceptor: this.#acceptor });
    this.#reader = new DeliveryReader(parts);
    this.#recovery = new Recovery({ ...parts, acceptor: this.#acceptor });
    // Without sources, a sender waits for the settings that other processes share.
    this.#apply(settings, settings.sources.length === 0 ? [] : parseSettings(settings, parts.store));
    parts.keeper.follow(this.#followed, () => this.#settings);
  }

  identify(call: IdentifyCall, options?: CallOptions): Promise<Receipt> {
    return this.#forward("identify", call, options);
  }

  track(call: TrackCall, options?: CallOptions): Promise<Receipt> {
    return this.#forward("track", call, options);
  }

  page(call: PageCall, options?: CallOptions): Promise<Receipt> {
    return this.#forward("page", call, options);
  }

  screen(call: ScreenCall, options?: CallOptions): Promise<Receipt> {
    return this.#forward("screen", call, options);
  }

  group(call: GroupCall, options?: CallOptions): Promise<Receipt> {
    return this.#forward("group", call, options);
  }

  alias(call: AliasCall, options?: CallOptions): Promise<Receipt> {
    return this.#forward("alias", call, options);
  }

  async accept(calls: readonly JudgedCall[], options?: AcceptOptions): Promise<readonly Receipt[]> {
    this.#assertOpen();
    return this.#acceptor.accept(this.#parts.intake.takeJudged(calls, options));
  }

  async deleteUser(userId: string, options?: DeleteOptions): Promise<readonly Receipt[]> {
    this.#assertOpen();
    return this.#acceptor.accept(this.#parts.intake.takeDelete(userId, options));
  }

  async syncAudience(name: string, userIds: Iterable<string>, options?: CallOptions): Promise<SyncReceipt> {
    this.#assertOpen();
    return this.#profiles.syncAudience(name, userIds, options);
  }

  async syncComputedTrait(
    name: string,
    values: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<SyncReceipt> {
    this.#assertOpen();
    return this.#profiles.syncComputedTrait(name, values, options);
  }

  on<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this {
    this.#parts.events.add(event, listener, false);
    return this;
  }

  once<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this {
    this.#parts.events.add(event, listener, true);
    return this;
  }

  off<K extends keyof SenderEvents>(event: K, listener: (payload: SenderEvents[K]) => void): this {
    this.#parts.events.remove(event, listener);
    return this;
  }

  async idle(): Promise<void> {
    this.#assertOpen();
    await this.#parts.waiters.idle();
  }

  async deliveries(filter: DeliveryFilter = {}): Promise<readonly Delivery[]> {
    this.#assertOpen();
    return this.#reader.deliveries(filter);
  }

  async delivery(id: string): Promise<Delivery | undefined> {
    this.#assertOpen();
    return this.#reader.delivery(id);
  }

  async summaries(filter: DeliveryFilter = {}): Promise<DeliveryPage> {
    this.#assertOpen();
    return this.#reader.summaries(filter);
  }

  async count(filter: DeliveryFilter = {}): Promise<number> {
    this.#assertOpen();
    return this.#reader.count(filter);
  }

  async skipped(filter: SkippedFilter = {}): Promise<SkippedPage> {
    this.#assertOpen();
    return this.#reader.skipped(filter);
  }

  resend(id: string, options?: ResendOptions): Promise<Receipt>;
  resend(what: ResendAll): Promise<{ readonly resent: number }>;
  async resend(
    what: string | ResendAll,
    options?: ResendOptions,
  ): Promise<Receipt | { readonly resent: number }> {
    this.#assertOpen();
    return typeof what === "string"
      ? this.#recovery.resend(what, options ?? {})
      : this.#recovery.resendAll(what);
  }

  retry(id: string): Promise<boolean>;
  retry(what: RetryAll): Promise<RetriedAll>;
  async retry(what: string | RetryAll): Promise<boolean | RetriedAll> {
    this.#assertOpen();
    return typeof what === "string" ? this.#parts.store.hasten(what) : this.#recovery.retryAll(what);
  }

  async clear(filter: DeliveryFilter = {}): Promise<number> {
    this.#assertOpen();
    return this.#recovery.clear(filter);
  }

  async stats(): Promise<SenderStats> {
    this.#assertOpen();
    return collectStats(this.#parts.intake.sources, this.#parts);
  }

  get settings(): SenderSettings {
    return this.#settings;
  }

  get settingsVersion(): number | undefined {
    return this.#isLocal ? undefined : this.#parts.keeper.version;
  }

  get retryPolicy(): RetryPolicy {
    return this.#parts.keeper.policy;
  }

  get storeState(): StoreState {
    return this.#parts.storeWatch.state;
  }

  configure(settings: SenderSettings): void {
    this.#assertOpen();
    this.#apply(settings, parseSettings(settings, this.#parts.store));
    this.#isLocal = true;
  }

  async update(settings: SenderSettings): Promise<void> {
    this.#assertOpen();
    await this.#parts.keeper.update(settings, this.#apply);
  }

  close(options: CloseOptions = {}): Promise<void> {
    checkCloseOptions(options);
    const deadlineMs = parseDuration(options.deadline ?? DEFAULT_CLOSE_MS, "close({ deadline })");
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #apply = (settings: SenderSettings, sources: readonly Source[]): void => {
    // Settings may arrive after close() that were asked for before: what has stopped must not begin again.
    if (this.#closing !== undefined) return;
    const { intake, engine, waiters } = this.#parts;
    this.#settings = shownMasked(keptSettings(settings, sources));
    this.#isLocal = false;
    intake.sources = sources;
    engine.configure(sources);
    warnOfSecrets(sources.flatMap(({ destinations }) => destinations.flatMap(({ secret = [] }) => secret)));
    waiters.destinations = intake.enabled;
    waiters.changed();
  };

  /** Applies settings that another process has changed. */
  readonly #followed = (settings: SenderSettings, sources: readonly Source[]): void => {
    const before = this.#settings;
    this.#apply(settings, sources);
    if (this.#closing !== undefined) return;
    this.#parts.events.emit("settings", { before, settings: this.#settings });
  };

  /** Closes everything, even when a part fails or hangs. */
  async #close(deadlineMs: number): Promise<void> {
    const { waiters, events, keeper } = this.#parts;
    keeper.close();
    try {
      await closeParts(this.#parts, deadlineMs);
    } finally {
      waiters.close();
      events.removeAll();
    }
  }

  /** Not an async function: it would keep the call, with all that the app put into it, until its message is stored. */
  #forward<T extends CallType>(type: T, call: Calls[T], options?: CallOptions): Promise<Receipt> {
    try {
      this.#assertOpen();
      return this.#acceptor.accept(this.#parts.intake.take(type, call, options)).then(onlyOf);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SenderClosedError(CLOSED);
  }
}

/** One call in, one receipt out. */
function onlyOf([receipt]: readonly Receipt[]): Receipt {
  return receipt as Receipt;
}
