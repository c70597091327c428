import type Database from "libsql";
import { type Delivery, type DeliveryInfo, type DeliverySummary, END_STATES } from "../delivery/delivery.ts";
import { type DeliveryFilter, valuesOf } from "../delivery/delivery-filter.ts";
import type { SkippedCall, SkippedFilter } from "../delivery/skipped-call.ts";
import type {
  Acceptance,
  Accepted,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  KnownTrait,
  StoreContext,
} from "../store/delivery-store.ts";
import { AcceptanceWriter, NOTHING_WRITTEN, type WrittenAcceptance } from "./acceptance-writer.ts";
import { CallTable } from "./call-table.ts";
import { type DeliveryCount, DeliveryCounter } from "./delivery-counter.ts";
import { DeliveryLog } from "./delivery-log.ts";
import { DeliverySearch } from "./delivery-search.ts";
import { DeliveryTable, type Repetition } from "./delivery-table.ts";
import { FileRoom } from "./file-room.ts";
import { Lane, type LaneOptions } from "./lane.ts";
import { Memory } from "./memory.ts";
import { ProfileTable } from "./profile-table.ts";
import { Retention, totalOf } from "./retention.ts";
import { isRepeatedId } from "./sqlite-error.ts";
import { type Write, WriteQueue } from "./write-queue.ts";

/** How much of what is due and waits for a place is kept in memory, by all destinations together. */
const MEMORY_BYTES = 16 * 1024 * 1024;

/** What an open store works with. */
export interface OpenStoreOptions {
  readonly path: string;
  readonly keepForMs: number;
  readonly maxBytes: number | undefined;
  readonly context: StoreContext;
  /** Releases the lock on the file. */
  readonly unlock: () => void;
}

/** A database that is open: its tables, its group commit, and a lane for each destination being served. */
export class OpenStore {
  readonly #db: Database.Database;
  readonly #options: OpenStoreOptions;
  readonly #table: DeliveryTable;
  readonly #calls: CallTable;
  readonly #writer: AcceptanceWriter;
  readonly #log: DeliveryLog;
  readonly #search: DeliverySearch;
  readonly #profiles: ProfileTable;
  readonly #counter: DeliveryCounter;
  readonly #retention: Retention;
  /** Undefined: the file may grow without limit. */
  readonly #room: FileRoom | undefined;
  readonly #writes: WriteQueue;
  readonly #lanes = new Map<string, Lane>();
  readonly #memory = new Memory(MEMORY_BYTES);
  /** Destinations with something new, or a free place, since they were last asked. */
  readonly #stirred = new Set<string>();
  #pumping: NodeJS.Immediate | undefined;

  constructor(db: Database.Database, options: OpenStoreOptions) {
    this.#db = db;
    this.#options = options;
    this.#table = new DeliveryTable(db);
    this.#calls = new CallTable(db);
    this.#profiles = new ProfileTable(db);
    this.#writer = new AcceptanceWriter(this.#table, this.#calls, this.#profiles);
    this.#counter = new DeliveryCounter(db);
    this.#log = new DeliveryLog(db, this.#counter);
    this.#search = new DeliverySearch(db, this.#counter);
    this.#retention = new Retention(db, options.keepForMs);
    const { path, maxBytes, context } = options;
    this.#room = maxBytes === undefined ? undefined : new FileRoom(db, path, maxBytes);
    this.#writes = new WriteQueue(db, path, {
      begin: this.#writer.begin,
      finish: this.#writer.finish,
      flushed: this.#flushed,
      stateChanged: context.stateChanged,
    });
  }

  async accept(acceptance: Acceptance): Promise<Accepted> {
    let removed: readonly DeliveryCount[] = [];
    let written: WrittenAcceptance = NOTHING_WRITTEN;
    if (acceptance.uniqueForMs !== undefined) this.#retention.keepKeysFor(acceptance.uniqueForMs);
    const run = (): void => {
      written = NOTHING_WRITTEN;
      written = this.#writer.write(acceptance);
      if (this.#room === undefined) return;
      removed = this.#makeRoom(this.#room);
      this.#room.assertRoom();
    };
    const committed = (): void => {
      for (const row of written.stored) {
        const { delivery } = row.due;
        this.#added(delivery);
        this.#lanes.get(delivery.destination)?.offer(row);
      }
      if (removed.length > 0) this.#counter.forget(removed);
    };
    try {
      await this.#writes.add(run, committed);
    } catch (error) {
      // It is accepted for the second time.
      if (!isRepeatedId(error)) throw error;
    }
    return written;
  }

  async repeat(id: string, next: Repetition): Promise<boolean> {
    const original = this.#log.find(id);
    if (original === undefined) return false;
    const { destination } = original;
    const { type } = next.message ?? original;
    let found = false;
    const committed = (): void => {
      if (!found) return;
      this.#added({ destination, type });
      this.#lanes.get(destination)?.stir(next.acceptedAt);
    };
    await this.#writes.add(() => {
      found = this.#table.repeat(id, next);
    }, committed);
    return found;
  }

  async hasten(id: string): Promise<boolean> {
    let destination: string | undefined;
    const now = this.#options.context.clock.now();
    const run = (): void => {
      const waiting = this.#table.waiting(id);
      destination = undefined;
      if (waiting === undefined || this.#lanes.get(waiting.destination)?.isClaimed(waiting.seq) === true)
        return;
      ({ destination } = waiting);
      this.#table.hasten(waiting, now);
    };
    await this.#writes.add(run, () => {
      if (destination === undefined) return;
      this.#lanes.get(destination)?.stir(now);
      this.#stirred.add(destination);
    });
    return destination !== undefined;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const wanted = valuesOf(filter.state ?? END_STATES);
    const state = END_STATES.filter((ended) => wanted.includes(ended));
    const found = await this.#search.list({ ...filter, state });
    let removed: readonly DeliveryCount[] = [];
    const run = (): void => {
      removed = this.#retention.removeById(found.map(({ id }) => id));
    };
    if (found.length > 0) await this.#writes.add(run, () => this.#counter.forget(removed));
    return totalOf(removed);
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const { clock, failed } = this.#options.context;
    const lane = new Lane({
      destination,
      concurrency,
      handler,
      table: this.#table,
      clock,
      memory: this.#memory,
      failed,
      settle: this.#settle,
      pumpSoon: () => {
        this.#stirred.add(destination);
        this.#pumping ??= setImmediate(this.#pump);
      },
    });
    this.#lanes.set(destination, lane);
    lane.pump();
    return {
      stop: async () => {
        if (this.#lanes.get(destination) === lane) this.#lanes.delete(destination);
        await lane.stop();
      },
    };
  }

  find(id: string): Delivery | undefined {
    return this.#log.find(id);
  }

  list(filter: DeliveryFilter): Promise<readonly DeliverySummary[]> {
    return this.#search.list(filter);
  }

  count(filter: DeliveryFilter): Promise<number> {
    return this.#search.count(filter);
  }

  skipped(filter: SkippedFilter): readonly SkippedCall[] {
    return this.#calls.skipped(filter);
  }

  counts(): ReadonlyMap<string, DeliveryCounts> {
    return this.#log.counts();
  }

  usage(): ReadonlyMap<string, number> {
    return this.#profiles.usage();
  }

  traits(source: string, trait: string, destinations: readonly string[]): KnownTrait {
    return this.#profiles.traits(source, trait, destinations);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
    this.#writes.flush();
    try {
      this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Another program may be reading the log. It is written into the database at the next open.
    }
    this.#db.close();
    this.#options.unlock();
  }

  readonly #settle: LaneOptions["settle"] = ({ seq, due }, settlement, outcome) => {
    const { destination, id } = due.delivery;
    const { isLast, committed, failed } = outcome;
    let removed: readonly DeliveryCount[] = [];
    const write: Write = {
      run: () => {
        if (this.#room !== undefined) removed = this.#makeRoom(this.#room);
        this.#table.settle(seq, due, settlement, this.#room?.left() ?? "ample");
      },
      committed: () => {
        if (removed.length > 0) this.#counter.forget(removed);
        this.#stirred.add(destination);
        if (settlement.state === "pending") {
          this.#lanes.get(destination)?.stir(settlement.dueAt);
          committed();
          return;
        }
        this.#counter.ended(due.delivery, settlement.state);
        committed();
        this.#options.context.ended(id);
      },
      failed,
    };
    this.#writes.addSettlement(write, isLast);
  };

  /** In a file of limited size, removes what ended first until there is room or nothing more to remove. */
  #makeRoom(room: FileRoom): readonly DeliveryCount[] {
    const removed: DeliveryCount[] = [];
    while (room.left() !== "ample") {
      const few = this.#retention.removeOldest();
      if (few === undefined) break;
      removed.push(...few);
    }
    return removed;
  }

  #added(delivery: Pick<DeliveryInfo, "destination" | "type">): void {
    this.#counter.added(delivery);
    this.#stirred.add(delivery.destination);
  }

  readonly #pump = (): void => {
    clearImmediate(this.#pumping);
    this.#pumping = undefined;
    for (const destination of this.#stirred) this.#lanes.get(destination)?.pump();
    this.#stirred.clear();
  };

  readonly #flushed = (): void => {
    this.#pump();
    try {
      this.#counter.forget(this.#retention.sweep(this.#options.context.clock.now()));
    } catch (error) {
      this.#options.context.failed(error instanceof Error ? error : new Error(String(error)));
    }
  };
}
