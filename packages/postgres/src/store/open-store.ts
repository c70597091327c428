import type {
  Acceptance,
  Accepted,
  Consumer,
  DeliveryFilter,
  DeliveryHandler,
  DeliverySummary,
  NextDelivery,
  StoreContext,
  StoredPart,
} from "@countersign/sender/store";
import type { Clock } from "@countersign/protocol";
import { StoreError } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { failureOf } from "../database/store-errors.ts";
import { Dispatcher } from "../delivery/dispatcher.ts";
import { Intake } from "../delivery/intake.ts";
import { Lanes } from "../delivery/lanes.ts";
import { RepeatQueue } from "../delivery/repeat-queue.ts";
import { Settler } from "../delivery/settler.ts";
import { DayPartitions } from "../schema/day-partitions.ts";
import type { Names } from "../schema/names.ts";
import { DeliveryChanges } from "../tables/delivery-changes.ts";
import { DeliveryLog } from "../tables/delivery-log.ts";
import type { SettingsTable } from "../tables/settings-table.ts";
import { Bulletin } from "../workers/bulletin.ts";
import { Claims } from "../workers/claims.ts";
import { joinAlone } from "../workers/join-alone.ts";
import { Membership } from "../workers/membership.ts";
import { Remarks } from "../workers/remarks.ts";
import { WorkerTable } from "../workers/worker-table.ts";
import { Lookout } from "./lookout.ts";
import { Maintenance } from "./maintenance.ts";
import { Reactions } from "./reactions.ts";
import { Takeover } from "./takeover.ts";

/** The parts that an open store uses. */
export interface OpenStoreOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly context: StoreContext;
  readonly leaseMs: number;
  readonly keepMs: number;
  readonly settings: SettingsTable;
}

/** A database that is open: what is read of it, and what is written. */
export class OpenStore {
  readonly connections: Connections;
  readonly log: DeliveryLog;
  readonly bulletin: Bulletin;
  readonly #clock: Clock;
  readonly #failed: (error: unknown) => void;
  readonly #partitions: DayPartitions;
  readonly #changes: DeliveryChanges;
  readonly #workers: WorkerTable;
  readonly #membership: Membership;
  readonly #settler: Settler;
  readonly #dispatcher: Dispatcher;
  readonly #intake: Intake;
  readonly #repeats: RepeatQueue;
  readonly #maintenance: Maintenance;
  readonly #takeover: Takeover;
  readonly #reactions: Reactions;
  #isClosed = false;

  /** Each part is made with the parts that it uses. From `start` on, membership and bulletin report to the reactions. */
  constructor({ connections, names, context, leaseMs, keepMs, settings }: OpenStoreOptions) {
    const { clock, ended, missed, stateChanged } = context;
    const failed = (error: unknown): void => context.failed(failureOf(error));
    const partitions = new DayPartitions(connections, names);
    const changes = new DeliveryChanges(connections, names);
    const workers = new WorkerTable(connections, names);
    const claims = new Claims();
    const membership = new Membership({ connections, table: workers, claims, clock, leaseMs, stateChanged });
    const bulletin = new Bulletin(connections, names, membership);
    const remarks = new Remarks(membership, bulletin, leaseMs);
    const lanes = new Lanes(membership);
    const base = { connections, names, partitions, clock, claims, membership, bulletin, remarks, lanes };
    const now = (): number => clock.now() - membership.clockSetByMs;
    const settler = new Settler({ connections, names, partitions, now, failed: context.failed });
    const dispatcher = new Dispatcher({ ...base, settler, ended, failed: context.failed });
    const maintenance = new Maintenance({ ...base, workers, keepMs });
    const lookout = new Lookout({ ...base, dispatcher, missed, failed });
    this.connections = connections;
    this.log = new DeliveryLog(connections, names);
    this.bulletin = bulletin;
    this.#clock = clock;
    this.#failed = failed;
    this.#partitions = partitions;
    this.#changes = changes;
    this.#workers = workers;
    this.#membership = membership;
    this.#settler = settler;
    this.#dispatcher = dispatcher;
    this.#intake = new Intake({ ...base, dispatcher });
    this.#repeats = new RepeatQueue(changes, partitions, membership);
    this.#maintenance = maintenance;
    this.#takeover = new Takeover({ ...base, maintenance });
    this.#reactions = new Reactions({ ...base, context, settings, dispatcher, maintenance, lookout, failed });
  }

  /** Joins the processes that have the store open. */
  async start(): Promise<void> {
    await this.#partitions.ensureAhead(this.#clock.now());
    await joinAlone(this.#membership, this.#workers, this.#reactions);
    this.#membership.start();
    await this.bulletin.listen(this.#reactions);
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
    const release = this.#clock.hold();
    const consumer = this.#dispatcher.consume(destination, concurrency, handler);
    void this.#membership.deliver().finally(release);
    return consumer;
  }

  async repeat(id: string, next: NextDelivery, source: string | undefined): Promise<boolean> {
    this.#assertSafe();
    const of = source ?? (await this.log.sourceOf(id));
    const stored = of === undefined ? undefined : await this.#repeats.add(id, next, of);
    if (stored === undefined) return false;
    this.#dispatcher.stirEverywhere([stored.destination]);
    return true;
  }

  async hasten(id: string, source: string | undefined): Promise<boolean> {
    this.#assertSafe();
    const of = source ?? (await this.log.sourceOf(id));
    if (of === undefined) return false;
    const destination = await this.#changes.hasten(id, of, Math.floor(this.#clock.now()));
    if (destination === undefined) return false;
    this.#dispatcher.stirEverywhere([destination]);
    return true;
  }

  async hastenAll(
    deliveries: readonly Pick<DeliverySummary, "id" | "source">[],
    dueAt: number,
  ): Promise<number> {
    this.#assertSafe();
    const now = (): number => this.#clock.now();
    let count = 0;
    for (const source of new Set(deliveries.map((delivery) => delivery.source))) {
      const own = deliveries.filter((delivery) => delivery.source === source);
      const ids = own.map(({ id }) => id);
      const destinations = await this.#changes.hastenAll(source, ids, Math.floor(dueAt), now);
      count += destinations.length;
      this.#dispatcher.stirEverywhere(destinations);
    }
    return count;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const rows = await this.log.removable(filter);
    let removed = 0;
    for (const source of new Set(rows.map((row) => row.source))) {
      const own = rows.filter((row) => row.source === source);
      removed += await this.#changes.remove(source, own, this.#membership.id);
    }
    return removed;
  }

  async take(part: StoredPart): Promise<void> {
    this.#assertSafe();
    this.#dispatcher.stirEverywhere(await this.#takeover.take(part));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#maintenance.stop();
    await this.#dispatcher.close();
    await this.#settler.close();
    await this.#membership.leave().catch(() => {});
    this.bulletin.close();
    await this.connections.close();
  }

  #assertSafe(): void {
    const { unsafe } = this.#membership;
    if (unsafe !== undefined) throw new StoreError("ERR_STORE_FAILED", unsafe);
  }
}
