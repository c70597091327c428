import type {
  Acceptance,
  Accepted,
  Consumer,
  DeliveryFilter,
  DeliveryHandler,
  DueDelivery,
  RemoteEvent,
  Settlement,
  StoreContext,
} from "@countersign/sender/store";
import { StoreError } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { isUnknown, storeErrorOf } from "../database/postgres-error.ts";
import { AcceptQueue } from "../delivery/accept-queue.ts";
import { Claims } from "../delivery/claims.ts";
import { Dispatcher } from "../delivery/dispatcher.ts";
import type { HandOver } from "../delivery/lane.ts";
import { RepeatQueue } from "../delivery/repeat-queue.ts";
import { Settler } from "../delivery/settler.ts";
import { splitBySource } from "../delivery/split-by-source.ts";
import { DayPartitions } from "../schema/day-partitions.ts";
import { dayOf, type Names } from "../schema/names.ts";
import { acceptSql, acceptValues } from "../tables/accept-statement.ts";
import { DeliveryChanges, type NextDelivery } from "../tables/delivery-changes.ts";
import { DeliveryLog } from "../tables/delivery-log.ts";
import type { SettingsTable } from "../tables/settings-table.ts";
import { changeTrait } from "../tables/trait-table.ts";
import { Bulletin, type News } from "../workers/bulletin.ts";
import { Membership } from "../workers/membership.ts";
import type { HeartbeatRow } from "../workers/worker-statements.ts";
import { VirtualConflict, WorkerTable } from "../workers/worker-table.ts";
import { Maintenance } from "./maintenance.ts";

/** How often the database is asked for what no notice has told. */
const PEEK_MS = 10_000;
const PEEK_WITHOUT_NOTICES_MS = 1_000;

/** A process with a virtual clock that does not extend its lease in this time is dead. */
const ALIVE_MS = 1_500;

/** What an open store works with. */
export interface OpenStoreOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly context: StoreContext;
  readonly leaseMs: number;
  readonly keepMs: number;
  readonly settings: SettingsTable;
}

/** A database that is open: its parts, and how they hear of each other. */
export class OpenStore {
  readonly log: DeliveryLog;
  readonly dispatcher: Dispatcher;
  readonly bulletin: Bulletin;
  readonly membership: Membership;
  readonly #options: OpenStoreOptions;
  readonly #partitions: DayPartitions;
  readonly #changes: DeliveryChanges;
  readonly #repeats: RepeatQueue;
  readonly #settler: Settler;
  readonly #queue: AcceptQueue;
  readonly #maintenance: Maintenance;
  readonly #claims = new Claims();
  readonly #workers: WorkerTable;
  #peekedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: OpenStoreOptions) {
    this.#options = options;
    const { connections, names, context, keepMs } = options;
    const { clock, failed } = context;
    const shared = { connections, names, clock };
    const membership = (): Membership => this.membership;
    const partitions = (this.#partitions = new DayPartitions(connections, names));
    this.log = new DeliveryLog(connections, names);
    this.#changes = new DeliveryChanges(connections, names);
    this.#repeats = new RepeatQueue(this.#changes, () => this.membership.id);
    this.#settler = new Settler({ ...shared, partitions, failed });
    this.dispatcher = new Dispatcher({
      ...shared,
      claims: this.#claims,
      settler: this.#settler,
      membership,
      settled: this.#settled,
      failed,
    });
    this.#queue = new AcceptQueue({
      connections,
      names,
      partitions,
      dispatcher: this.dispatcher,
      claims: this.#claims,
      membership,
      unclaimed: (source, destinations) => this.#tellStirred(destinations.map((one) => [source, one])),
      stored: (due) => this.#tellStored(due),
    });
    this.#workers = new WorkerTable(connections, names);
    this.membership = this.#newMembership();
    this.bulletin = new Bulletin(
      {
        connections,
        names,
        hasOthers: () => this.membership.hasOthers,
        told: this.#told,
        missed: this.#missed,
      },
      this.membership.id,
    );
    this.#maintenance = new Maintenance({
      connections,
      names,
      partitions,
      workers: this.#workers,
      clock,
      keepMs,
    });
  }

  /** Joins the processes that have the store open. */
  async start(): Promise<void> {
    await this.#partitions.ensureAhead(this.#options.context.clock.now());
    await this.#join();
    this.membership.start();
    await this.bulletin.listen();
  }

  async accept(acceptance: Acceptance): Promise<Accepted> {
    this.#assertSafe();
    if (acceptance.traits !== undefined) return this.#acceptWithTraits(acceptance);
    const parts = splitBySource(acceptance);
    const [only] = parts;
    if (only === undefined) return { repeats: [] };
    if (parts.length === 1) return this.#queue.add(only.source, only.acceptance);
    const results = await Promise.allSettled(
      parts.map((part) => this.#queue.add(part.source, part.acceptance)),
    );
    const failures = results.flatMap((result) =>
      result.status === "rejected" ? [result.reason as unknown] : [],
    );
    // Some sources have their part: the same ids again store the rest.
    if (failures.length === parts.length) throw storeErrorOf(failures[0]);
    if (failures.length > 0) throw partlyStored(failures[0]);
    const repeats = results.flatMap((result, index) =>
      result.status === "fulfilled"
        ? result.value.repeats.map((position) => parts[index]?.calls[position] ?? 0)
        : [],
    );
    return { repeats: repeats.toSorted((a, b) => a - b) };
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    // Something may be due: a virtual clock waits until it is handed over.
    const release = this.#options.context.clock.hold();
    const consumer = this.dispatcher.consume(destination, concurrency, handler);
    void this.membership.deliver().finally(release);
    return consumer;
  }

  async repeat(id: string, next: NextDelivery): Promise<boolean> {
    this.#assertSafe();
    await this.#partitions.ensure([dayOf(next.acceptedAt)]);
    const stored = await this.#repeats.add(id, next);
    if (stored === undefined) return false;
    this.#stirred(stored.source, stored.destination);
    return true;
  }

  async hasten(id: string, source: string | undefined): Promise<boolean> {
    const now = Math.floor(this.#options.context.clock.now());
    const destination = await this.#changes.hasten(id, source, now);
    if (destination === undefined) return false;
    this.#stirred(destination.slice(0, destination.lastIndexOf("/")), destination);
    return true;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const rows = await this.log.ended(filter);
    let removed = 0;
    for (const source of new Set(rows.map((row) => row.source))) {
      const own = rows.filter((row) => row.source === source);
      removed += await this.#changes.remove(source, own, this.membership.id);
    }
    return removed;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.dispatcher.close();
    await this.#settler.close();
    await this.membership.leave().catch(() => {});
    this.bulletin.close();
    await this.#options.connections.close();
  }

  #newMembership(): Membership {
    const { context, leaseMs } = this.#options;
    return new Membership({
      table: this.#workers,
      clock: context.clock,
      leaseMs,
      isVirtual: "advance" in context.clock,
      isWithinShares: () => this.dispatcher.isWithinShares(),
      claimed: () => this.dispatcher.claimed(),
      quiet: () => this.#claims.quiet(),
      lost: () => this.#claims.lose(),
      changed: () => this.dispatcher.stirAll(),
      beaten: this.#beaten,
      stateChanged: context.stateChanged,
      failed: context.failed,
      tellList: () => this.bulletin.tell({ list: true }),
    });
  }

  /** A process that died with a virtual clock, or beside one, is removed once it has shown no life. */
  async #join(): Promise<void> {
    let suspect: string | undefined;
    for (;;) {
      try {
        await this.membership.join();
        return;
      } catch (error) {
        if (!(error instanceof VirtualConflict)) throw error;
        const { id, lease_until: leaseUntil } = error.other;
        if (suspect === undefined || !suspect.startsWith(id)) suspect = `${id} ${leaseUntil}`;
        else if (suspect !== `${id} ${leaseUntil}`) throw error;
        else await this.#workers.remove(id, leaseUntil);
        await new Promise((resolve) => setTimeout(resolve, ALIVE_MS));
      }
    }
  }

  async #acceptWithTraits(acceptance: Acceptance): Promise<Accepted> {
    const { traits, ...rest } = acceptance;
    if (traits === undefined) return this.accept(rest);
    const { connections, names } = this.#options;
    const days = new Set(rest.messages.map(({ acceptedAt }) => dayOf(acceptedAt)));
    if (!this.#partitions.has(days)) await this.#partitions.ensure(days);
    const entry = { acceptance: rest, ownRepeats: new Set<number>(), claims: new Set<string>() };
    const { id: worker, epoch } = this.membership;
    const values = acceptValues(traits.source, [entry], { worker, epoch, claim: 0 }, undefined);
    try {
      await connections.transaction("work", async (run) => {
        await changeTrait(run, names, traits);
        await run(acceptSql(names), values);
      });
    } catch (error) {
      throw isUnknown(error) ? unknownTraits(error) : storeErrorOf(error);
    }
    const destinations = new Set(rest.deliveries.map(({ destination }) => destination));
    for (const destination of destinations) this.#stirred(traits.source, destination);
    return { repeats: [] };
  }

  #stirred(source: string, destination: string): void {
    this.dispatcher.stir([destination]);
    this.#tellStirred([[source, destination]]);
  }

  #tellStirred(stirred: readonly (readonly [string, string])[]): void {
    this.bulletin.tell({ stirred });
  }

  #tellStored(due: readonly DueDelivery[]): void {
    if (!this.membership.hasOthers) return;
    this.bulletin.tell({ events: due.map(({ delivery }): RemoteEvent => ({ kind: "accepted", delivery })) });
  }

  readonly #settled = ({ due: { delivery } }: HandOver, settlement: Settlement): void => {
    const hasEnded = settlement.state !== "pending";
    if (hasEnded) this.#options.context.ended(delivery.id);
    if (!this.membership.hasOthers) return;
    const events: readonly RemoteEvent[] = [
      { kind: "settled", delivery, settlement: withoutBodies(settlement) },
    ];
    this.bulletin.tell({ events, ended: hasEnded ? [delivery.id] : [] });
  };

  readonly #told = (news: News): void => {
    const { ended, told } = this.#options.context;
    this.dispatcher.stir((news.stirred ?? []).map(([, destination]) => destination));
    for (const id of news.ended ?? []) ended(id);
    for (const event of news.events ?? []) told(event);
    if (news.list === true) this.membership.look();
    if (news.settings !== undefined) this.#options.settings.heard(news.settings);
    if (news.missed === true) this.#missed();
  };

  readonly #missed = (): void => {
    this.dispatcher.stirAll();
    this.#options.context.missed();
  };

  readonly #beaten = ({ settings }: HeartbeatRow): void => {
    if (settings !== null) this.#options.settings.heard(settings);
    this.#maintenance.run().catch(this.#options.context.failed);
    const every = this.bulletin.hears ? PEEK_MS : PEEK_WITHOUT_NOTICES_MS;
    if (performance.now() - this.#peekedAt < every) return;
    this.#peekedAt = performance.now();
    this.dispatcher.peek().catch((error: unknown) => this.#options.context.failed(storeErrorOf(error)));
    if (!this.bulletin.hears && this.membership.hasOthers) this.#options.context.missed();
  };

  #assertSafe(): void {
    const { unsafe } = this.membership;
    if (unsafe !== undefined) throw new StoreError("ERR_STORE_FAILED", unsafe);
  }
}

/** For people who watch from another process: they see the rest when they open the delivery. */
function withoutBodies(settlement: Settlement): Settlement {
  const attempts = settlement.attempts.map(({ requestHeaders: _, responseHeaders: __, ...attempt }) => ({
    ...attempt,
    response: "",
  }));
  return { ...settlement, attempts };
}

function partlyStored(cause: unknown): StoreError {
  return new StoreError(
    "ERR_STORE_UNKNOWN",
    "Of calls of several sources, some were stored and some were not. Repeat all with the same ids, which stores the rest.",
    cause,
  );
}

/** A sync that is repeated finds out by its version. */
function unknownTraits(cause: unknown): StoreError {
  return new StoreError(
    "ERR_STORE_CHANGED",
    "The connection to the database broke before it answered, so whether the sync was stored is not known. Read what is known of the trait again.",
    cause,
  );
}
