import { newestFirst, oldestFirst } from "../delivery/cursor.ts";
import { type DeliveryFilter, limitOf, type OneOrMore, valuesOf } from "../delivery/delivery-filter.ts";
import { type Delivery, END_STATES } from "../delivery/delivery.ts";
import { firstAccepted } from "../delivery/first-accepted.ts";
import type {
  Acceptance,
  Accepted,
  DeliveryStore,
  SharedSettings,
  StoreContext,
  StoreSpace,
  StoreState,
} from "./delivery-store.ts";
import { Shard } from "./shard.ts";
import { sourceOf } from "./source-of.ts";
import { acceptParts, splitAcceptance } from "./split-acceptance.ts";
import { StoreError } from "./store-error.ts";

/**
 * One store made of several, each with its own sources. An unreachable store affects only its own sources.
 *
 * The store of a source must not change while it has pending deliveries or keys that count: no data moves from one store to
 * another. Shared settings are in the first store, and are copied to the others.
 *
 * @param stores By name. The sender opens and closes them.
 * @param nameOf The name of a source's store: always the same for a source. Settings with a source that has none are refused.
 * @throws TypeError when there is no store
 * @example
 * ```ts
 * const store = shardedStore({ eu, us }, (source) => (source.startsWith("eu-") ? "eu" : "us"));
 * const sender = await createSender({ sources, store });
 * ```
 */
export function shardedStore(
  stores: Readonly<Record<string, DeliveryStore>>,
  nameOf: (source: string) => string,
): DeliveryStore {
  const shards = Object.entries(stores).map(([name, store]) => new Shard(name, store));
  const [first] = shards;
  if (first === undefined) throw new TypeError("shardedStore() needs at least one store: { a, b }.");
  if (typeof nameOf !== "function") {
    throw new TypeError(
      "shardedStore() needs a function from the name of a source to the name of its store.",
    );
  }
  return new ShardedStore(first, shards, nameOf);
}

class ShardedStore implements DeliveryStore {
  readonly #first: Shard;
  readonly #shards: readonly Shard[];
  readonly #nameOf: (source: string) => string;
  readonly settings: SharedSettings | undefined;
  #failed: (error: Error) => void = () => {};

  constructor(first: Shard, shards: readonly Shard[], nameOf: (source: string) => string) {
    this.#first = first;
    this.#shards = shards;
    this.#nameOf = nameOf;
    const own = first.settings;
    this.settings = own && {
      get: () => own.get(),
      put: (version, text) => this.#putSettings(own, version, text),
      watch: (listener) => own.watch(listener),
    };
  }

  async open(context: StoreContext): Promise<{ readonly generation: number }> {
    this.#failed = context.failed;
    const [, ...others] = this.#shards;
    const opening = others.map((shard) => shard.openWhenPossible(this.#contextOf(shard, context)));
    // Without the first there are no settings, and no generation.
    const generation = await this.#first
      .open(this.#contextOf(this.#first, context))
      .catch(async (error: unknown) => {
        await Promise.allSettled([...opening, this.close()]);
        throw error;
      });
    await Promise.all(opening);
    return { generation };
  }

  async accept(acceptance: Acceptance): Promise<Accepted> {
    const parts = splitAcceptance(acceptance, (source) => this.#of(source));
    return acceptParts(parts, async ({ key, acceptance: part }) => {
      try {
        return await key.store.accept(part);
      } catch (error) {
        throw withName(key, error);
      }
    });
  }

  async repeat(...[id, next, source]: Parameters<DeliveryStore["repeat"]>): Promise<boolean> {
    const of = source ?? (await this.find(id))?.source;
    return of !== undefined && this.#of(of).store.repeat(id, next, of);
  }

  async hasten(id: string, source?: string): Promise<boolean> {
    const of = source ?? (await this.find(id))?.source;
    return of !== undefined && this.#of(of).store.hasten(id, of);
  }

  async hastenAll(...[deliveries, dueAt]: Parameters<DeliveryStore["hastenAll"]>): Promise<number> {
    const parts = new Map<Shard, (typeof deliveries)[number][]>();
    for (const delivery of deliveries) {
      const shard = this.#of(delivery.source);
      const part = parts.get(shard);
      if (part === undefined) parts.set(shard, [delivery]);
      else part.push(delivery);
    }
    const counts = await Promise.all(
      [...parts].map(async ([{ store }, part]) => store.hastenAll(part, dueAt)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async remove(filter: Parameters<DeliveryStore["remove"]>[0]): Promise<number> {
    const shards = this.#holding(filter.source);
    if (filter.limit === undefined || shards.length === 1) return removeFrom(shards, () => filter);
    const state = valuesOf(filter.state ?? END_STATES).filter((wanted) => wanted !== "pending");
    if (state.length === 0) return 0;
    // The newest of all are not the newest of each.
    const lists = await Promise.all(
      shards.map(async (shard) =>
        (await shard.store.list({ ...filter, state })).map((delivery) => ({ ...delivery, shard })),
      ),
    );
    const newest = lists.flat().toSorted(newestFirst).slice(0, limitOf(filter));
    const removed = await removeFrom(shards, (wanted) => {
      const limit = newest.filter(({ shard }) => shard === wanted).length;
      return limit === 0 ? undefined : { ...filter, state, limit };
    });
    if (removed > 0 || newest.length === 0) return removed;
    // The newest may be copies that stay.
    for (const shard of shards) {
      const older = await shard.store.remove(filter);
      if (older > 0) return older;
    }
    return 0;
  }

  consume(...args: Parameters<DeliveryStore["consume"]>): ReturnType<DeliveryStore["consume"]> {
    return this.#of(sourceOf(args[0])).consume(...args);
  }

  async find(id: string, source?: string): Promise<Delivery | undefined> {
    if (source !== undefined) return this.#of(source).store.find(id, source);
    const results = await Promise.allSettled(this.#shards.map(async ({ store }) => store.find(id)));
    const found = results.flatMap((result) => (result.status === "fulfilled" ? (result.value ?? []) : []));
    if (found.length > 0) return firstAccepted(found);
    // It may be in one that did not answer.
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return undefined;
  }

  async list(...[filter, order]: Parameters<DeliveryStore["list"]>): ReturnType<DeliveryStore["list"]> {
    const lists = await Promise.all(
      this.#holding(filter.source).map(async ({ store }) => store.list(filter, order)),
    );
    const inOrder = order === "oldest first" ? oldestFirst : newestFirst;
    return lists.flat().toSorted(inOrder).slice(0, limitOf(filter));
  }

  async count(filter: Parameters<DeliveryStore["count"]>[0]): Promise<number> {
    const counts = await Promise.all(
      this.#holding(filter.source).map(async ({ store }) => store.count(filter)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async skipped(filter: Parameters<DeliveryStore["skipped"]>[0]): ReturnType<DeliveryStore["skipped"]> {
    const lists = await Promise.all(
      this.#holding(filter.source).map(async ({ store }) => store.skipped(filter)),
    );
    return lists.flat().toSorted(newestFirst).slice(0, limitOf(filter));
  }

  async counts(): ReturnType<DeliveryStore["counts"]> {
    const counts = await Promise.all(this.#shards.map((shard) => shard.counts()));
    return new Map(counts.flatMap((each) => [...each]));
  }

  async usage(): ReturnType<DeliveryStore["usage"]> {
    const usages = await Promise.all(this.#shards.map((shard) => shard.usage()));
    return new Map(usages.flatMap((each) => [...each]));
  }

  /** That of the fullest: it is the first to refuse calls of its sources, whatever room the others have. */
  async space(): Promise<StoreSpace | undefined> {
    const spaces = await Promise.all(this.#shards.map((shard) => shard.space()));
    const limited = spaces.filter((space) => space !== undefined);
    return limited.toSorted((a, b) => shareOf(b) - shareOf(a))[0];
  }

  async traits(...args: Parameters<DeliveryStore["traits"]>): ReturnType<DeliveryStore["traits"]> {
    return this.#of(args[0]).store.traits(...args);
  }

  async close(): Promise<void> {
    const results = await Promise.allSettled(this.#shards.map((shard) => shard.close()));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  refuses(source: string): string | undefined {
    const name = this.#nameOf(source);
    if (this.#shards.some((each) => each.name === name)) return undefined;
    const names = this.#shards.map((each) => JSON.stringify(each.name)).join(", ");
    return `is assigned to ${JSON.stringify(name)} by shardedStore(). There are: ${names}.`;
  }

  #of(source: string): Shard {
    const name = this.#nameOf(source);
    const shard = this.#shards.find((each) => each.name === name);
    if (shard !== undefined) return shard;
    throw new TypeError(`The source ${JSON.stringify(source)} ${this.refuses(source)}`);
  }

  /** The stores of these sources; all of them when none are named. Nothing is kept of a source that has no store. */
  #holding(sources: OneOrMore<string> | undefined): readonly Shard[] {
    if (sources === undefined) return this.#shards;
    const names = new Set(valuesOf(sources).map((source) => this.#nameOf(source)));
    return this.#shards.filter(({ name }) => names.has(name));
  }

  #contextOf(shard: Shard, context: StoreContext): StoreContext {
    return {
      ...context,
      stateChanged: (state) => {
        shard.state = state;
        context.stateChanged(this.#stateOfAll());
      },
    };
  }

  /** Up as long as any is: calls of other sources can be accepted. */
  #stateOfAll(): StoreState {
    const troubled = this.#shards.filter(({ state }) => state.state !== "up");
    // One that is up may have something to say, too.
    const said = this.#shards.filter((shard) => troubled.includes(shard) || shard.state.reason !== undefined);
    if (said.length === 0) return { state: "up" };
    const lines = said.map(
      ({ name, state }) => `${name} is ${state.state}: ${state.reason ?? "no reason given"}`,
    );
    const reason = lines.join(" ");
    const isAll = troubled.length === this.#shards.length;
    return { state: isAll ? (troubled[0]?.state.state ?? "down") : "up", reason };
  }

  async #putSettings(own: SharedSettings, version: number, text: string): Promise<number> {
    const next = await own.put(version, text);
    for (const { name, settings } of this.#shards.slice(1)) {
      try {
        await settings?.put((await settings.get())?.version ?? 0, text);
      } catch (cause) {
        this.#failed(
          new Error(`The settings could not be copied to the store ${JSON.stringify(name)}.`, { cause }),
        );
      }
    }
    return next;
  }
}

/** A store tells that it is full with the calls that it refuses, and knows no name of its own. */
function withName({ name }: Shard, error: unknown): unknown {
  if (!(error instanceof StoreError) || error.code !== "ERR_STORE_FULL") return error;
  return new StoreError(error.code, `${name} is full: ${error.message}`, error);
}

function shareOf({ usedBytes, limitBytes }: StoreSpace): number {
  return usedBytes / limitBytes;
}

/** Removes from each what is meant there, if anything is. */
async function removeFrom(
  shards: readonly Shard[],
  filterOf: (shard: Shard) => DeliveryFilter | undefined,
): Promise<number> {
  let removed = 0;
  for (const shard of shards) {
    const filter = filterOf(shard);
    if (filter !== undefined) removed += await shard.store.remove(filter);
  }
  return removed;
}
