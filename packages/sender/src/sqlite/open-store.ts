import { clearTimeout, setTimeout } from "node:timers";
import type Database from "libsql";
import { errorOf } from "@countersign/protocol";
import { type DeliveryInfo, END_STATES } from "../delivery/delivery.ts";
import { type DeliveryFilter, valuesOf } from "../delivery/delivery-filter.ts";
import type { Acceptance, Accepted, NextDelivery, StoreContext } from "../store/delivery-store.ts";
import { AcceptanceWriter, NOTHING_WRITTEN, type WrittenAcceptance } from "./acceptance-writer.ts";
import { CallTable } from "./call-table.ts";
import { type DeliveryCount, DeliveryCounter } from "./delivery-counter.ts";
import { DeliverySearch } from "./delivery-search.ts";
import { DeliveryTable } from "./delivery-table.ts";
import { FileRoom } from "./file-room.ts";
import { Lanes } from "./lanes.ts";
import type { LogFile } from "./log-file.ts";
import { ProfileTable } from "./profile-table.ts";
import { Retention, totalOf } from "./retention.ts";
import { SetBackClock } from "./set-back-clock.ts";
import { SettlementTable } from "./settlement-table.ts";
import { closedError, isRepeatedId } from "./sqlite-error.ts";
import { Transactions } from "./transactions.ts";
import { type CommitGroup, type Write, WriteQueue } from "./write-queue.ts";

/** How often to look for something outdated while nothing is written. */
const IDLE_SWEEP_MS = 60_000;

/** How soon to look again if something was found. */
const IDLE_SWEEP_AGAIN_MS = 25;

/** How long to wait before the disk is tried again that could not be flushed to. */
const FLUSH_AGAIN_MS = 1_000;

/** Deliveries hastened in one turn of the event loop: some milliseconds. */
const HASTENED_AT_ONCE = 200;

/** Nothing to write, so that the disk is waited for. */
const NOTHING: Write = { run: () => {}, flushed: () => {}, failed: () => {} };

/** The parts that an open store uses. */
export interface OpenStoreOptions {
  readonly path: string;
  readonly keepForMs: number;
  readonly maxBytes: number | undefined;
  readonly context: StoreContext;
  /** Undefined: the store is in memory. */
  readonly log: LogFile | undefined;
  /** Releases the lock on the file. */
  readonly unlock: () => void;
}

/** A database that is open: what is read of it, and what is written through one queue. */
export class OpenStore {
  readonly search: DeliverySearch;
  readonly counter: DeliveryCounter;
  readonly calls: CallTable;
  readonly profiles: ProfileTable;
  readonly lanes: Lanes;
  /** Undefined: the file may grow without limit. */
  readonly room: FileRoom | undefined;
  readonly #db: Database.Database;
  readonly #options: OpenStoreOptions;
  readonly #table: DeliveryTable;
  readonly #writer: AcceptanceWriter;
  readonly #retention: Retention;
  readonly #transactions: Transactions;
  readonly #writes: WriteQueue;
  readonly #setBackClock: SetBackClock;
  #isClosed = false;
  #idleSweep: NodeJS.Timeout | undefined;
  #flushAgain: NodeJS.Timeout | undefined;
  /** Whether no lane was told of something, since the disk may not have it. */
  #isUntold = false;

  constructor(db: Database.Database, options: OpenStoreOptions) {
    const { path, keepForMs, maxBytes, context, log } = options;
    this.#setBackClock = new SetBackClock(context.clock, context.stateChanged);
    const { stateChanged, woken } = this.#setBackClock;
    const table = new DeliveryTable(db);
    const counter = new DeliveryCounter(db);
    const calls = new CallTable(db);
    const profiles = new ProfileTable(db);
    const writer = new AcceptanceWriter(table, calls, profiles);
    const retention = new Retention(db, keepForMs);
    const room = maxBytes === undefined ? undefined : new FileRoom(db, path, maxBytes);
    this.#db = db;
    this.#options = options;
    this.#table = table;
    this.#writer = writer;
    this.#retention = retention;
    this.room = room;
    this.search = new DeliverySearch(db, counter);
    this.counter = counter;
    this.calls = calls;
    this.profiles = profiles;
    this.#transactions = new Transactions(db, { path, log, writer, counter, retention, room, stateChanged });
    this.#writes = new WriteQueue(this.#commit);
    const settlements = new SettlementTable(db, room);
    this.lanes = new Lanes({ table, settlements, counter, writes: this.#writes, context, woken });
    this.#sweepLater(IDLE_SWEEP_MS);
  }

  accept(acceptance: Acceptance): Promise<Accepted> {
    let written: WrittenAcceptance = NOTHING_WRITTEN;
    const { uniqueForMs = 0 } = acceptance;
    return new Promise((resolve, reject) => {
      this.#writes.add({
        needsRoom: true,
        run: () => {
          if (uniqueForMs > this.#retention.keepKeysForMs) this.#retention.keepKeysFor(uniqueForMs);
          written = this.#writer.add(acceptance);
        },
        committed: () => {
          if (uniqueForMs > this.#retention.keepKeysForMs) this.#retention.keysAreKeptFor(uniqueForMs);
          this.#retention.stored += written.stored.length;
          for (const { due } of written.stored) this.counter.added(due.delivery);
        },
        flushed: () => {
          for (const row of written.stored) this.lanes.of(row.due.delivery.destination)?.offer(row);
          resolve(written);
        },
        failed(error) {
          // What has a known id is accepted for the second time, but for what was a repeat already.
          if (isRepeatedId(error)) resolve({ repeats: written.repeats });
          else reject(error);
        },
      });
    });
  }

  async repeat(id: string, next: NextDelivery): Promise<boolean> {
    const original = this.search.find(id);
    if (original === undefined) return false;
    const { destination } = original;
    const { type } = next.message ?? original;
    let found = false;
    await this.#written({
      run: () => {
        found = this.#table.repeat(id, next);
      },
      committed: () => {
        if (found) this.counter.added({ destination, type });
      },
      flushed: () => {
        if (found) this.lanes.of(destination)?.stir(next.acceptedAt);
      },
    });
    return found;
  }

  async hasten(id: string): Promise<boolean> {
    const now = this.#options.context.clock.now();
    // One that is due, too: its endpoints may have asked to be called later.
    return (await this.#hasten([id], now, () => Number.MIN_SAFE_INTEGER)) > 0;
  }

  async hastenAll(deliveries: readonly Pick<DeliveryInfo, "id">[], dueAt: number): Promise<number> {
    const { clock } = this.#options.context;
    const laterThan = (): number => Math.max(dueAt, clock.now());
    let count = 0;
    for (let from = 0; from < deliveries.length; from += HASTENED_AT_ONCE) {
      const ids = deliveries.slice(from, from + HASTENED_AT_ONCE).map(({ id }) => id);
      count += await this.#hasten(ids, dueAt, laterThan);
    }
    return count;
  }

  /** Makes those of these deliveries due that wait, and are due later than a time; returns how many. */
  async #hasten(ids: readonly string[], dueAt: number, laterThan: () => number): Promise<number> {
    let hastened: readonly { readonly destination: string; readonly at: number }[] = [];
    const run = (): void => {
      const waiting = this.#table.waiting(ids, laterThan());
      hastened = waiting
        .filter(({ destination, seq }) => !this.lanes.isClaimed(destination, seq))
        .map((row) => ({ destination: row.destination, at: this.#table.hasten(row, dueAt) }));
    };
    const committed = (): void => {
      for (const { destination, at } of hastened) this.lanes.of(destination)?.stir(at);
    };
    await this.#written({ run, committed });
    return hastened.length;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const wanted = valuesOf(filter.state ?? END_STATES);
    const state = END_STATES.filter((ended) => wanted.includes(ended));
    const found = await this.search.removable({ ...filter, state });
    let removed: readonly DeliveryCount[] = [];
    const run = (): void => {
      removed = this.#retention.removeById(found.map(({ id }) => id));
    };
    if (found.length > 0) await this.#written({ run, committed: () => this.counter.forget(removed) });
    return totalOf(removed);
  }

  async close(): Promise<void> {
    await this.lanes.stop();
    await this.#writes.empty();
    this.#isClosed = true;
    clearTimeout(this.#flushAgain);
    clearTimeout(this.#idleSweep);
    this.#setBackClock.stop();
    const { log } = this.#options;
    try {
      // The process would wait for the disk with it.
      log?.assertAnswering();
      this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Another program may be reading the log. It is written into the database at the next open.
    }
    await log?.close();
    this.#db.close();
    this.#options.unlock();
  }

  /** What is accepted in the group is due once the disk has it: it would be lost if it was delivered before, and failed. */
  readonly #commit: CommitGroup = (group, isAwaited, flushed) => {
    if (this.#isClosed) {
      // Of an attempt that close() has left behind. With a log that is closed, a flush would be tried again every second, for ever.
      for (const write of group) write.failed(closedError(this.#options.path));
      flushed();
      return;
    }
    if (isAwaited) this.#table.holdBack();
    const waiting = this.#transactions.commit(group, isAwaited);
    this.lanes.pump();
    this.#sweep();
    if (!isAwaited) {
      flushed();
      return;
    }
    this.#transactions.flush(waiting, (isOnDisk, tell) => {
      clearTimeout(this.#flushAgain);
      // First: it was stored before what lanes are told of now.
      if (isOnDisk && this.#isUntold) this.lanes.lookAgain();
      tell();
      if (isOnDisk) this.#table.letGo();
      else this.#flushAgain = setTimeout(this.#tryToFlush, FLUSH_AGAIN_MS).unref();
      this.#isUntold = !isOnDisk;
      this.lanes.pump();
      flushed();
    });
  };

  readonly #tryToFlush = (): void => this.#writes.add(NOTHING);

  /** Resolves when something is written and the disk has it, and rejects with a StoreError when it is not known to have it. */
  #written({ run, committed, flushed }: Omit<Write, "failed">): Promise<void> {
    return new Promise((resolve, failed) => {
      this.#writes.add({
        run,
        committed,
        flushed() {
          flushed?.();
          resolve();
        },
        failed,
      });
    });
  }

  #sweep(): void {
    const { clock, failed } = this.#options.context;
    const now = clock.now();
    if (!this.#retention.isDue(now)) return;
    try {
      this.#transactions.sweep(now);
    } catch (error) {
      failed(errorOf(error));
    }
  }

  /** Removes what is outdated also while nothing is committed, since it is personal data. Keeps no process running. */
  #sweepLater(ms: number): void {
    this.#idleSweep = setTimeout(() => {
      this.#retention.hasten();
      this.#sweep();
      this.#sweepLater(this.#retention.leavesMore ? IDLE_SWEEP_AGAIN_MS : IDLE_SWEEP_MS);
    }, ms).unref();
  }
}
