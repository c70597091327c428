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
import { shownMasked } from "../settings/mask-settings.ts";
import { parseSettings } from "../settings/parse-settings.ts";
import type { SenderSettings } from "../settings/settings.ts";
import { Acceptor } from "./acceptor.ts";
import type { CallIntake, Intake, TakenCall } from "./call-intake.ts";
import { checkCloseOptions, checkDeleteOptions, checkDeliveryFilter } from "./check-options.ts";
import { closeParts } from "./close-parts.ts";
import type { Engine, EngineParts } from "./engine.ts";
import { type ProfileSync, ProfileSyncer } from "./profile-sync.ts";
import {
  type CallOptions,
  type CloseOptions,
  type DeleteOptions,
  type JudgedCall,
  type Receipt,
  type Sender,
  SenderClosedError,
  type SenderEvents,
  type SyncReceipt,
} from "./sender.ts";
import { collectStats, type SenderStats } from "./stats.ts";
import type { Waiters } from "./waiters.ts";

/** What a forwarder is made of, besides the parts of its engine. */
export interface ForwarderParts extends EngineParts {
  readonly engine: Engine;
  readonly intake: CallIntake;
  readonly waiters: Waiters;
}

const DEFAULT_CLOSE_MS = 10_000;

/** The sender: takes calls in, and gives everything else to the part that knows about it. */
export class Forwarder implements Sender {
  readonly #parts: ForwarderParts;
  readonly #acceptor: Acceptor;
  readonly #profiles: ProfileSyncer;
  #settings: SenderSettings;
  #closing: Promise<void> | undefined;

  constructor(parts: ForwarderParts, settings: SenderSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#acceptor = new Acceptor(parts);
    this.#profiles = new ProfileSyncer(parts.intake, parts.store, this.#acceptor);
    this.configure(settings);
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

  async accept(calls: readonly JudgedCall[], options?: CallOptions): Promise<readonly Receipt[]> {
    this.#assertOpen();
    const intake = this.#parts.intake.takeJudged(calls, options);
    await this.#store(intake);
    return intake.taken.map((taken) => this.#receipt(taken));
  }

  async deleteUser(userId: string, options: DeleteOptions = {}): Promise<readonly Receipt[]> {
    this.#assertOpen();
    checkDeleteOptions(options);
    const { intake } = this.#parts;
    const named = options.sources?.map((source) => intake.sourceOf({ source }));
    const sources = [...new Set(named ?? intake.sources)].filter(({ enabled }) => enabled.length > 0);
    const taken = intake.takeDelete(sources, userId, options.timestamp);
    await this.#store(taken);
    return taken.taken.map((one) => this.#receipt(one));
  }

  async syncAudience(name: string, userIds: Iterable<string>, options?: CallOptions): Promise<SyncReceipt> {
    this.#assertOpen();
    return this.#syncReceipt(
      await this.#acceptor.working(this.#profiles.syncAudience(name, userIds, options)),
    );
  }

  async syncComputedTrait(
    name: string,
    values: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<SyncReceipt> {
    this.#assertOpen();
    return this.#syncReceipt(
      await this.#acceptor.working(this.#profiles.syncComputedTrait(name, values, options)),
    );
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
    checkDeliveryFilter(filter);
    const { store, engine } = this.#parts;
    const summaries = await store.list(filter);
    const deliveries = await Promise.all(summaries.map(({ id, source }) => store.find(id, source)));
    // What was removed between the two is no longer kept.
    return deliveries.flatMap((delivery) => (delivery === undefined ? [] : engine.shown(delivery)));
  }

  async delivery(id: string): Promise<Delivery | undefined> {
    this.#assertOpen();
    const found = await this.#parts.store.find(id);
    return found && this.#parts.engine.shown(found);
  }

  async resend(id: string): Promise<Receipt> {
    this.#assertOpen();
    const { store, intake } = this.#parts;
    const original = await store.find(id);
    const next = { id: intake.newId(), acceptedAt: intake.now() };
    if (original === undefined || !(await this.#acceptor.working(store.repeat(id, next)))) {
      throw new RangeError(
        `resend(): no delivery ${JSON.stringify(id)} in the store. Finished deliveries are kept for \`keepFor\`.`,
      );
    }
    this.#acceptor.tellRepeat(original, next);
    return this.#receipt({ messageId: original.messageId, deliveries: [next.id], skipped: undefined });
  }

  async stats(): Promise<SenderStats> {
    this.#assertOpen();
    return collectStats(this.#parts.intake.sources, this.#parts.store, this.#parts);
  }

  get settings(): SenderSettings {
    return this.#settings;
  }

  configure(settings: SenderSettings): void {
    this.#assertOpen();
    const sources = parseSettings(settings);
    this.#settings = shownMasked(structuredClone({ sources: settings.sources }));
    this.#parts.intake.sources = sources;
    this.#parts.engine.configure(sources);
    this.#parts.waiters.destinations = sources.flatMap(({ enabled }) => enabled);
    this.#parts.waiters.changed();
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

  /** Closes everything, even when a part fails or hangs. */
  async #close(deadlineMs: number): Promise<void> {
    const { waiters, events } = this.#parts;
    try {
      await closeParts(this.#parts, deadlineMs);
    } finally {
      waiters.close();
      events.removeAll();
    }
  }

  async #forward<T extends CallType>(type: T, call: Calls[T], options?: CallOptions): Promise<Receipt> {
    this.#assertOpen();
    const intake = this.#parts.intake.take(type, call, options);
    await this.#store(intake);
    // One call in, one out.
    return this.#receipt(intake.taken[0] as TakenCall);
  }

  async #store(intake: Intake): Promise<void> {
    await this.#acceptor.accept(intake);
    for (const { messageId, type, source, event, identity, skipped } of intake.taken) {
      if (skipped === undefined) continue;
      const call = { messageId, type, source, event, identity };
      this.#parts.events.emit("skipped", { ...call, reason: skipped });
    }
  }

  #receipt({
    messageId,
    deliveries,
    skipped,
  }: Pick<TakenCall, "messageId" | "deliveries" | "skipped">): Receipt {
    return { messageId, deliveries, skipped, settled: () => this.#parts.waiters.settled(deliveries) };
  }

  #syncReceipt(sync: ProfileSync): SyncReceipt {
    return { ...sync, settled: () => this.#parts.waiters.settled(sync.deliveries) };
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new SenderClosedError(
      "The sender is closed. Create a new one; a store on disk continues where this one stopped.",
    );
  }
}
