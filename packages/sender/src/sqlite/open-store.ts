// Not the global functions: a test that replaces those and runs all timers would never end, since this timer starts itself again.
import { clearTimeout, setTimeout } from "node:timers";
import type Database from "libsql";
import { isError } from "@countersign/protocol";
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
  ListOrder,
  StoreContext,
} from "../store/delivery-store.ts";
import { AcceptanceWriter, NOTHING_WRITTEN, type WrittenAcceptance } from "./acceptance-writer.ts";
import { CallTable } from "./call-table.ts";
import { type DeliveryCount, DeliveryCounter } from "./delivery-counter.ts";
import { DeliveryLog } from "./delivery-log.ts";
import { DeliverySearch } from "./delivery-search.ts";
import { DeliveryTable, type Repetition, type WaitingRow } from "./delivery-table.ts";
import { FileRoom } from "./file-room.ts";
import { Lanes } from "./lanes.ts";
import { ProfileTable } from "./profile-table.ts";
import { Retention, totalOf } from "./retention.ts";
import { type Settlements, SettlementTable } from "./settlement-table.ts";
import { isRepeatedId } from "./sqlite-error.ts";
import { WriteQueue } from "./write-queue.ts";

/** How often to look for something outdated while nothing is written. */
const IDLE_SWEEP_MS = 60_000;

/** How soon to look again if something was found. */
const IDLE_SWEEP_AGAIN_MS = 25;

/** Deliveries hastened in one turn of the event loop: some milliseconds. */
const HASTENED_AT_ONCE = 200;

/** The parts that an open store uses. */
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
  readonly #settlements: SettlementTable;
  readonly #calls: CallTable;
  readonly #writer: AcceptanceWriter;
  readonly #log: DeliveryLog;
  readonly #search: DeliverySearch;
  readonly #profiles: ProfileTable;
  readonly #counter: DeliveryCounter;
  readonly #retention: Retention;
  /** Undefined: the file may grow without limit. */
  readonly #room: FileRoom | undefined;
  /** What the present transaction has removed to make room, and whether it stores calls. */
  #removed: readonly DeliveryCount[] = [];
  #storesCalls = false;
  /** How many deliveries were stored since outdated ones were removed. */
  #stored = 0;
  readonly #writes: WriteQueue;
  readonly #lanes: Lanes;
  #idleSweep: NodeJS.Timeout | undefined;

  constructor(db: Database.Database, options: OpenStoreOptions) {
    this.#db = db;
    this.#options = options;
    this.#table = new DeliveryTable(db);
    this.#settlements = new SettlementTable(db);
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
      begin: this.#begin,
      finish: this.#finish,
      committed: this.#committed,
      flushed: this.#flushed,
      stateChanged: context.stateChanged,
    });
    const settlements = { write: this.#writeSettlement, committed: this.#settled };
    this.#lanes = new Lanes({ table: this.#table, context, writes: this.#writes, settlements });
    this.#sweepLater(IDLE_SWEEP_MS);
  }

  accept(acceptance: Acceptance): Promise<Accepted> {
    let written: WrittenAcceptance = NOTHING_WRITTEN;
    const { uniqueForMs = 0 } = acceptance;
    return new Promise((resolve, reject) => {
      this.#writes.add({
        run: () => {
          this.#storesCalls = true;
          if (uniqueForMs > this.#retention.keepKeysForMs) this.#retention.keepKeysFor(uniqueForMs);
          written = this.#writer.write(acceptance);
        },
        committed: () => {
          if (uniqueForMs > this.#retention.keepKeysForMs) this.#retention.keysAreKeptFor(uniqueForMs);
          this.#stored += written.stored.length;
          for (const row of written.stored) {
            this.#counter.added(row.due.delivery);
            this.#lanes.offer(row);
          }
          resolve(written);
        },
        failed(error) {
          // What has a known id is accepted for the second time.
          if (isRepeatedId(error)) resolve(NOTHING_WRITTEN);
          else reject(error);
        },
      });
    });
  }

  async repeat(id: string, next: Repetition): Promise<boolean> {
    const original = this.#log.find(id);
    if (original === undefined) return false;
    const { destination } = original;
    const { type } = next.message ?? original;
    let found = false;
    const committed = (): void => {
      if (!found) return;
      this.#counter.added({ destination, type });
      this.#lanes.stir(destination, next.acceptedAt);
    };
    await this.#written(() => {
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
      if (waiting === undefined || this.#lanes.isClaimed(waiting.destination, waiting.seq)) return;
      ({ destination } = waiting);
      this.#table.hasten(waiting, now);
    };
    await this.#written(run, () => {
      if (destination !== undefined) this.#lanes.stir(destination, now);
    });
    return destination !== undefined;
  }

  async hastenAll(deliveries: readonly Pick<DeliveryInfo, "id">[], dueAt: number): Promise<number> {
    let count = 0;
    for (let from = 0; from < deliveries.length; from += HASTENED_AT_ONCE) {
      const ids = deliveries.slice(from, from + HASTENED_AT_ONCE).map(({ id }) => id);
      count += await this.#hastenSome(ids, dueAt);
    }
    return count;
  }

  async #hastenSome(ids: readonly string[], dueAt: number): Promise<number> {
    let hastened: readonly WaitingRow[] = [];
    const run = (): void => {
      const waiting = this.#table.waitingFor(ids, dueAt);
      hastened = waiting.filter(({ destination, seq }) => !this.#lanes.isClaimed(destination, seq));
      for (const row of hastened) this.#table.hasten(row, dueAt);
    };
    await this.#written(run, () => {
      for (const destination of new Set(hastened.map((row) => row.destination)))
        this.#lanes.stir(destination, dueAt);
    });
    return hastened.length;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const wanted = valuesOf(filter.state ?? END_STATES);
    const state = END_STATES.filter((ended) => wanted.includes(ended));
    const found = await this.#search.removable({ ...filter, state });
    let removed: readonly DeliveryCount[] = [];
    const run = (): void => {
      removed = this.#retention.removeById(found.map(({ id }) => id));
    };
    if (found.length > 0) await this.#written(run, () => this.#counter.forget(removed));
    return totalOf(removed);
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    return this.#lanes.consume(destination, concurrency, handler);
  }

  find(id: string): Delivery | undefined {
    return this.#log.find(id);
  }

  list(filter: DeliveryFilter, order?: ListOrder): Promise<readonly DeliverySummary[]> {
    return this.#search.list(filter, order);
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
    await this.#lanes.stop();
    this.#writes.flush();
    clearTimeout(this.#idleSweep);
    try {
      this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Another program may be reading the log. It is written into the database at the next open.
    }
    this.#db.close();
    this.#options.unlock();
  }

  readonly #begin = (): void => {
    this.#storesCalls = false;
    this.#writer.begin();
    // Otherwise there is as much as after the last one.
    const isShort = this.#room !== undefined && this.#room.left !== "ample";
    this.#removed = isShort ? this.#room.make(this.#retention) : [];
  };

  /** @throws StoreError when calls were stored that do not fit, whatever is removed */
  readonly #finish = (): void => {
    this.#writer.finish();
    if (this.#room === undefined) return;
    // How large the file is can be told when it has everything.
    this.#removed = [...this.#removed, ...this.#room.make(this.#retention)];
    if (this.#storesCalls) this.#room.assertRoom();
  };

  readonly #committed = (): void => {
    if (this.#removed.length > 0) this.#counter.forget(this.#removed);
  };

  readonly #writeSettlement: Settlements["write"] = ({ seq, due }, settlement) =>
    this.#settlements.settle(seq, due, settlement, this.#room?.left ?? "ample");

  readonly #settled: Settlements["committed"] = ({ due: { delivery } }, settlement) => {
    if (settlement.state === "pending") {
      this.#lanes.stir(delivery.destination, settlement.dueAt);
    } else {
      this.#lanes.settled(delivery.destination);
      this.#counter.ended(delivery, settlement.state);
    }
  };

  /** Resolves when something is written and committed, and rejects with a StoreError when it is not. */
  #written(run: () => void, committed: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writes.add({
        run,
        committed() {
          committed();
          resolve();
        },
        failed: reject,
      });
    });
  }

  readonly #flushed = (): void => {
    this.#lanes.pump();
    const now = this.#options.context.clock.now();
    if (!this.#retention.isDue(now)) return;
    const stored = this.#stored;
    this.#stored = 0;
    try {
      this.#counter.forget(this.#writes.unflushed(() => this.#retention.sweep(now, stored)));
    } catch (error) {
      this.#options.context.failed(isError(error) ? error : new Error(String(error)));
    }
  };

  /** Removes what is outdated also while nothing is committed, since it is personal data. Keeps no process running. */
  #sweepLater(ms: number): void {
    this.#idleSweep = setTimeout(() => {
      this.#retention.hasten();
      this.#flushed();
      this.#sweepLater(this.#retention.leavesMore ? IDLE_SWEEP_AGAIN_MS : IDLE_SWEEP_MS);
    }, ms).unref();
  }
}
