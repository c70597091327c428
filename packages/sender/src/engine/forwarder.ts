import { parseDuration } from "@countersign/protocol";
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
import type { Delivery, DeliveryFilter } from "../delivery/delivery.ts";
import { checkCloseOptions, checkDeleteOptions, checkDeliveryFilter } from "./check-options.ts";
import { audienceChanges, traitChanges } from "../profiles/trait-diff.ts";
import {
  SenderClosedError,
  type CloseOptions,
  type DeleteOptions,
  type Receipt,
  type Sender,
  type SenderEvents,
  type SyncReceipt,
} from "./sender.ts";
import { parseSettings } from "../settings/parse-settings.ts";
import type { SenderSettings } from "../settings/settings.ts";
import { type SenderStats, collectStats } from "./stats.ts";
import type { NewDelivery } from "../store/delivery-store.ts";
import type { CallIntake, Intake } from "./call-intake.ts";
import type { Engine, EngineParts } from "./engine.ts";
import { type FindChanges, ProfileSyncer } from "./profile-sync.ts";
import type { Waiters } from "./waiters.ts";

/** What a forwarder is made of, besides what its engine is. */
export interface ForwarderParts extends EngineParts {
  readonly engine: Engine;
  readonly intake: CallIntake;
  readonly waiters: Waiters;
}

const DEFAULT_CLOSE_MS = 10_000;

/** The sender: takes calls in, and gives everything else to the part that knows about it. */
export class Forwarder implements Sender {
  readonly #parts: ForwarderParts;
  readonly #profiles: ProfileSyncer;
  #settings: SenderSettings;
  #closing: Promise<void> | undefined;

  constructor(parts: ForwarderParts, settings: SenderSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#profiles = new ProfileSyncer(parts.intake, parts.store, (acceptance) =>
      this.#working(parts.store.accept(acceptance)),
    );
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
    await this.#parts.waiters.idle();
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
        `resend(): no delivery ${JSON.stringify(id)} in the store. Finished deliveries are kept for \`keepFor\`.`,
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

  /** Everything is let go of, whatever fails or hangs; then the first failure is thrown. */
  async #close(deadlineMs: number): Promise<void> {
    const { engine, store, transport, waiters, events } = this.#parts;
    await engine.stop(deadlineMs);
    const problems = [
      await problemOf("transport", () => transport.close()),
      await problemOf("store", () => store.close()),
    ];
    waiters.close();
    events.removeAll();
    for (const problem of problems) if (problem !== undefined) throw problem;
  }

  async #forward<T extends keyof Calls>(type: T, call: Calls[T], options?: CallOptions): Promise<Receipt> {
    this.#assertOpen();
    return this.#store(this.#parts.intake.take(type, call, options));
  }

  async #store({ acceptance, message, source, skipped }: Intake): Promise<Receipt> {
    await this.#working(this.#parts.store.accept(acceptance));
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
    return { changed, removed, deliveries, skipped, settled: () => this.#parts.waiters.settled(deliveries) };
  }

  /** Neither the clock advances nor `idle` resolves while something is being stored. */
  async #working<T>(storing: Promise<T>): Promise<T> {
    const { clock, waiters } = this.#parts;
    const release = clock.hold();
    waiters.working();
    try {
      return await storing;
    } finally {
      release();
      waiters.worked();
    }
  }

  #receipt(messageId: string, deliveries: readonly string[], skipped?: Receipt["skipped"]): Receipt {
    return { messageId, deliveries, skipped, settled: () => this.#parts.waiters.settled(deliveries) };
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new SenderClosedError(
      "The sender is closed. Create a new one; a store on disk continues where this one stopped.",
    );
  }
}

function idsOf(deliveries: readonly NewDelivery[]): readonly string[] {
  return deliveries.map(({ id }) => id);
}

/** How long a transport or a store may take to close: neither may keep a sender from closing. */
const CLOSE_PART_MS = 1_000;

/** Why a part did not close; undefined when it did. */
async function problemOf(part: string, close: () => Promise<void>): Promise<Error | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<Error>((resolve) => {
    const error = new Error(
      `close(): the ${part} did not close within ${CLOSE_PART_MS} ms and was left behind.`,
    );
    timer = setTimeout(() => resolve(error), CLOSE_PART_MS);
  });
  try {
    return await Promise.race([close().then(() => undefined), hung]);
  } catch (error) {
    return error instanceof Error ? error : new Error(`close(): the ${part} failed: ${String(error)}`);
  } finally {
    clearTimeout(timer);
  }
}
