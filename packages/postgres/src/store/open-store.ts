import type {
  Acceptance,
  Accepted,
  Consumer,
  DeliveryFilter,
  DeliveryHandler,
  DeliverySummary,
  DueDelivery,
  NextDelivery,
  RemoteEvent,
  Settlement,
  StoreContext,
  StoredPart,
} from "@countersign/sender/store";
import { sourceOf, StoreError } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { failureOf } from "../database/store-errors.ts";
import { Claims } from "../delivery/claims.ts";
import { Dispatcher } from "../delivery/dispatcher.ts";
import { Intake } from "../delivery/intake.ts";
import type { HandOver } from "../delivery/lane.ts";
import { RepeatQueue } from "../delivery/repeat-queue.ts";
import { Settler } from "../delivery/settler.ts";
import { DayPartitions } from "../schema/day-partitions.ts";
import type { Names } from "../schema/names.ts";
import { DeliveryChanges } from "../tables/delivery-changes.ts";
import { DeliveryLog } from "../tables/delivery-log.ts";
import type { SettingsTable } from "../tables/settings-table.ts";
import { Bulletin, type News, withoutBodies } from "../workers/bulletin.ts";
import { joinAlone } from "../workers/join-alone.ts";
import { Membership } from "../workers/membership.ts";
import type { HeartbeatRow } from "../workers/worker-statements.ts";
import { WorkerTable } from "../workers/worker-table.ts";
import { Lookout } from "./lookout.ts";
import { Maintenance } from "./maintenance.ts";
import { Takeover } from "./takeover.ts";

/** For operators: it works, and could work better. */
const DEAF =
  "Notifications do not arrive, as behind a pooler in transaction mode. The store asks once a second instead, so that deliveries may start a second late. Connect directly, or through a pooler in session mode.";

/** For operators: calls are accepted, and nothing is sent. */
const NOBODY =
  "No process delivers the calls that are accepted here. Run countersign work on this store, or a server without --no-deliver.";

/** The parts that an open store uses. */
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
  readonly connections: Connections;
  readonly log: DeliveryLog;
  readonly dispatcher: Dispatcher;
  readonly bulletin: Bulletin;
  readonly membership: Membership;
  readonly #options: OpenStoreOptions;
  readonly #partitions: DayPartitions;
  readonly #changes: DeliveryChanges;
  readonly #repeats: RepeatQueue;
  readonly #settler: Settler;
  readonly #intake: Intake;
  readonly #maintenance: Maintenance;
  readonly #takeover: Takeover;
  readonly #lookout: Lookout;
  readonly #claims = new Claims();
  readonly #workers: WorkerTable;
  /** Since when something waits for a process that delivers, and there is none, by `performance.now()`. */
  #leftAt: number | undefined;
  #isClosed = false;

  constructor(options: OpenStoreOptions) {
    this.#options = options;
    const { connections, names, context, keepMs } = options;
    this.connections = connections;
    const { clock, failed } = context;
    const shared = { connections, names, clock };
    const membership = (): Membership => this.membership;
    const partitions = (this.#partitions = new DayPartitions(connections, names));
    this.log = new DeliveryLog(connections, names);
    this.#changes = new DeliveryChanges(connections, names);
    this.#repeats = new RepeatQueue(this.#changes, partitions, () => this.membership.id);
    const now = (): number => clock.now() - this.membership.clockSetByMs;
    this.#settler = new Settler({ connections, names, partitions, now, failed });
    this.dispatcher = new Dispatcher({
      ...shared,
      claims: this.#claims,
      settler: this.#settler,
      membership,
      settled: this.#settled,
      left: (destination) => this.#tellStirred([destination]),
      failed,
    });
    this.#intake = new Intake({
      connections,
      names,
      partitions,
      dispatcher: this.dispatcher,
      claims: this.#claims,
      membership,
      unclaimed: (destinations) => {
        this.#leftAt ??= performance.now();
        this.#tellStirred(destinations);
      },
      stored: (due) => this.#tellStored(due),
      stirred: (destinations) => this.#stirred(destinations),
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
    this.#lookout = new Lookout({
      connections,
      dispatcher: this.dispatcher,
      bulletin: this.bulletin,
      hasOthers: () => this.membership.hasOthers,
      missed: () => context.missed(),
      failed: this.#failed,
    });
    this.#maintenance = new Maintenance({
      connections,
      names,
      partitions,
      workers: this.#workers,
      clock,
      keepMs,
    });
    this.#takeover = new Takeover({
      connections,
      names,
      partitions,
      maintenance: this.#maintenance,
      writer: () => this.membership.id,
      now: () => clock.now(),
    });
  }

  /** Joins the processes that have the store open. */
  async start(): Promise<void> {
    await this.#partitions.ensureAhead(this.#options.context.clock.now());
    await joinAlone(this.membership, this.#workers);
    this.membership.start();
    await this.bulletin.listen();
  }

  accept(acceptance: Acceptance): Promise<Accepted> {
    this.#assertSafe();
    const { uniqueForMs = 0 } = acceptance;
    if (uniqueForMs > this.#maintenance.keepKeysMs)
      this.#maintenance.keepKeysFor(uniqueForMs).catch(this.#failed);
    return this.#intake.accept(acceptance);
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    // Something may be due: a virtual clock waits until it is handed over.
    const release = this.#options.context.clock.hold();
    const consumer = this.dispatcher.consume(destination, concurrency, handler);
    void this.membership.deliver().finally(release);
    return consumer;
  }

  async repeat(id: string, next: NextDelivery, source: string | undefined): Promise<boolean> {
    this.#assertSafe();
    const of = source ?? (await this.log.sourceOf(id));
    const stored = of === undefined ? undefined : await this.#repeats.add(id, next, of);
    if (stored === undefined) return false;
    this.#stirred([stored.destination]);
    return true;
  }

  async hasten(id: string, source: string | undefined): Promise<boolean> {
    this.#assertSafe();
    const of = source ?? (await this.log.sourceOf(id));
    if (of === undefined) return false;
    const destination = await this.#changes.hasten(id, of, Math.floor(this.#options.context.clock.now()));
    if (destination === undefined) return false;
    this.#stirred([destination]);
    return true;
  }

  async hastenAll(
    deliveries: readonly Pick<DeliverySummary, "id" | "source">[],
    dueAt: number,
  ): Promise<number> {
    this.#assertSafe();
    let count = 0;
    for (const source of new Set(deliveries.map((delivery) => delivery.source))) {
      const own = deliveries.filter((delivery) => delivery.source === source);
      const ids = own.map(({ id }) => id);
      const destinations = await this.#changes.hastenAll(source, ids, Math.floor(dueAt));
      count += destinations.length;
      this.#stirred(destinations);
    }
    return count;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const rows = await this.log.removable(filter);
    let removed = 0;
    for (const source of new Set(rows.map((row) => row.source))) {
      const own = rows.filter((row) => row.source === source);
      removed += await this.#changes.remove(source, own, this.membership.id);
    }
    return removed;
  }

  async take(part: StoredPart): Promise<void> {
    this.#assertSafe();
    this.#stirred(await this.#takeover.take(part));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#maintenance.stop();
    await this.dispatcher.close();
    await this.#settler.close();
    await this.membership.leave().catch(() => {});
    this.bulletin.close();
    await this.connections.close();
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
      answeredBy: (server) => this.connections.keepTo(server),
      beaten: this.#beaten,
      remark: () => this.#remark(),
      stateChanged: context.stateChanged,
      tellList: () => this.bulletin.tell({ list: true }),
    });
  }

  #remark(): string | undefined {
    if (this.membership.isDelivering) this.#leftAt = undefined;
    const isLeft = performance.now() - (this.#leftAt ?? Number.POSITIVE_INFINITY) > this.#options.leaseMs;
    if (isLeft) return NOBODY;
    return this.bulletin.isDeaf ? DEAF : undefined;
  }

  #stirred(destinations: readonly string[]): void {
    this.dispatcher.stir(destinations);
    this.#tellStirred(destinations);
  }

  #tellStirred(destinations: readonly string[]): void {
    this.bulletin.tell({ stirred: destinations.map((one) => [sourceOf(one), one]) });
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

  readonly #failed = (error: unknown): void => this.#options.context.failed(failureOf(error));

  readonly #beaten = ({ settings }: HeartbeatRow): void => {
    this.#options.settings.heard(settings ?? 0);
    // By a clock that is wrong, everything may look as if it were outdated.
    if (this.membership.unsafe === undefined) this.#maintenance.run().catch(this.#failed);
    void this.dispatcher.giveBackLate().then((late) => this.#tellStirred(late));
    this.#lookout.look();
  };

  #assertSafe(): void {
    const { unsafe } = this.membership;
    if (unsafe !== undefined) throw new StoreError("ERR_STORE_FAILED", unsafe);
  }
}
