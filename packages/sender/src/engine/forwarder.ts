import type {
  AliasCall,
  CallOptions,
  Calls,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from "../calls/calls.ts";
import { parseDuration } from "../clock/duration.ts";
import type { Delivery, DeliveryFilter } from "../delivery/delivery.ts";
import { createExpect } from "../expect/create-expect.ts";
import type { Expect } from "../expect/expect.ts";
import type { Fault } from "../faults/fault.ts";
import { checkCloseOptions, checkDeleteOptions, checkDeliveryFilter } from "../options/check-call-options.ts";
import { audienceChanges, traitChanges } from "../profiles/trait-diff.ts";
import { SenderClosedError } from "../sender-closed-error.ts";
import type {
  CloseOptions,
  DeleteOptions,
  FaultScope,
  InjectedFault,
  Receipt,
  Sender,
  SenderEvents,
  SyncReceipt,
} from "../sender.ts";
import { parseSettings } from "../settings/parse-settings.ts";
import type { SenderSettings } from "../settings/settings.ts";
import type { SenderStats } from "../stats/sender-stats.ts";
import type { Acceptance, NewDelivery } from "../store/delivery-store.ts";
import type { CallIntake, Intake } from "./call-intake.ts";
import { collectStats } from "./collect-stats.ts";
import type { Engine, EngineParts } from "./engine.ts";
import type { IdleWatch } from "./idle-watch.ts";
import { type FindChanges, ProfileSyncer } from "./profile-sync.ts";
import type { SettledWaiters } from "./settled-waiters.ts";

/** What a forwarder is made of, besides what its engine is. */
export interface ForwarderParts extends EngineParts {
  readonly engine: Engine;
  readonly intake: CallIntake;
  readonly waiters: SettledWaiters;
  readonly idle: IdleWatch;
  /** Closes what was opened for the settings. */
  readonly closeSettings: () => Promise<void>;
}

const defaultCloseMs = 10_000;

/** The sender: takes calls in, and gives everything else to the part that knows about it. */
export class Forwarder implements Sender {
  readonly expect: Expect;
  readonly #parts: ForwarderParts;
  readonly #profiles: ProfileSyncer;
  #settings: SenderSettings;
  #closing: Promise<void> | undefined;

  constructor(parts: ForwarderParts, settings: SenderSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#profiles = new ProfileSyncer(parts.intake, parts.store, (acceptance) => this.#accept(acceptance));
    this.expect = createExpect(this, parts.clock);
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

  async deleteUser(userId: string, options: DeleteOptions = {}): Promise<readonly Receipt[]> {
    this.#assertOpen();
    checkDeleteOptions(options);
    const { intake } = this.#parts;
    const named = options.sources?.map((source) => intake.sourceOf({ source }));
    const intakes = [...new Set(named ?? intake.sources)]
      .filter(({ destinations }) => destinations.some(({ enabled }) => enabled))
      .map((source) => intake.takeDelete(source, userId, options.timestamp));
    return Promise.all(intakes.map((one) => this.#store(one)));
  }

  async syncAudience(
    name: string,
    userIds: Iterable<string>,
    options: CallOptions = {},
  ): Promise<SyncReceipt> {
    const members = new Set(userIds);
    return this.#sync("syncAudience()", name, options, (known) => audienceChanges(known, members));
  }

  async syncComputedTrait(
    name: string,
    values: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<SyncReceipt> {
    const byUser = values instanceof Map ? new Map(values) : new Map(Object.entries(values));
    return this.#sync("syncComputedTrait()", name, options, (known) => traitChanges(known, byUser));
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
    await this.#parts.idle.wait();
  }

  async deliveries(filter: DeliveryFilter = {}): Promise<readonly Delivery[]> {
    this.#assertOpen();
    checkDeliveryFilter(filter);
    return this.#parts.store.list(filter);
  }

  async delivery(id: string): Promise<Delivery | undefined> {
    this.#assertOpen();
    return this.#parts.store.find(id);
  }

  async resend(id: string): Promise<Receipt> {
    this.#assertOpen();
    const { store, intake } = this.#parts;
    const original = await store.find(id);
    const next = { id: intake.newId(), acceptedAt: intake.now() };
    if (original === undefined || !(await this.#working(store.repeat(id, next)))) {
      throw new RangeError(
        `There is no delivery ${JSON.stringify(id)} to send again. Ended ones are kept for a while only.`,
      );
    }
    return this.#receipt(original.messageId, [next.id]);
  }

  async stats(): Promise<SenderStats> {
    this.#assertOpen();
    return collectStats(this.#parts.intake.sources, this.#parts.store, this.#parts.recorder);
  }

  get settings(): SenderSettings {
    return this.#settings;
  }

  configure(settings: SenderSettings): void {
    this.#assertOpen();
    const sources = parseSettings(settings);
    this.#settings = structuredClone({ sources: settings.sources });
    this.#parts.intake.sources = sources;
    this.#parts.engine.configure(sources);
    this.#parts.idle.changed();
  }

  inject(fault: Fault, scope: FaultScope = {}): InjectedFault {
    return this.#parts.faults.inject(fault, scope);
  }

  close(options: CloseOptions = {}): Promise<void> {
    checkCloseOptions(options);
    const deadlineMs = parseDuration(options.deadline ?? defaultCloseMs, "close({ deadline })");
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(deadlineMs: number): Promise<void> {
    const { engine, store, transport, waiters, idle, events, closeSettings } = this.#parts;
    await engine.stop(deadlineMs);
    await transport.close();
    await store.close();
    waiters.close();
    idle.close();
    events.removeAll();
    await closeSettings();
  }

  async #forward<T extends keyof Calls>(type: T, call: Calls[T], options?: CallOptions): Promise<Receipt> {
    this.#assertOpen();
    return this.#store(this.#parts.intake.take(type, call, options));
  }

  async #store({ acceptance, message, source, skipped }: Intake): Promise<Receipt> {
    await this.#accept(acceptance);
    if (skipped !== undefined) {
      const { messageId, type } = message;
      this.#parts.events.emit("skipped", { messageId, type, source, reason: skipped });
    }
    return this.#receipt(message.messageId, idsOf(acceptance.deliveries), skipped);
  }

  async #sync(
    kind: string,
    name: string,
    options: CallOptions,
    findChanges: FindChanges,
  ): Promise<SyncReceipt> {
    this.#assertOpen();
    const sync = await this.#working(this.#profiles.sync(kind, name, options, findChanges));
    const { changed, removed, skipped } = sync;
    const deliveries = idsOf(sync.acceptance.deliveries);
    return { changed, removed, deliveries, skipped, settled: () => this.#parts.waiters.wait(deliveries) };
  }

  #accept(acceptance: Acceptance): Promise<void> {
    return this.#working(this.#parts.store.accept(acceptance));
  }

  /** Neither the clock moves on nor `idle` resolves while something is being stored. */
  async #working<T>(storing: Promise<T>): Promise<T> {
    const release = this.#parts.clock.hold();
    const done = this.#parts.idle.begin();
    try {
      return await storing;
    } finally {
      release();
      done();
    }
  }

  #receipt(messageId: string, deliveries: readonly string[], skipped?: Receipt["skipped"]): Receipt {
    return { messageId, deliveries, skipped, settled: () => this.#parts.waiters.wait(deliveries) };
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new SenderClosedError(
      "The sender is closed. Create another one; a store on disk goes on where this one ended.",
    );
  }
}

function idsOf(deliveries: readonly NewDelivery[]): readonly string[] {
  return deliveries.map(({ id }) => id);
}
