import type Database from "libsql";
import type { Delivery, DeliveryFilter, DueDelivery } from "../delivery/delivery.ts";
import type {
  Acceptance,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  KnownTrait,
  NewDelivery,
  NewMessage,
  StoreContext,
} from "../store/delivery-store.ts";
import { type DeliveryCount, DeliveryCounter } from "./delivery-counter.ts";
import { DeliveryLog } from "./delivery-log.ts";
import { DeliveryTable } from "./delivery-table.ts";
import { FileRoom } from "./file-room.ts";
import { Lane, type LaneOptions } from "./lane.ts";
import { ProfileTable } from "./profile-table.ts";
import { Retention } from "./retention.ts";
import { WriteQueue } from "./write-queue.ts";

/** What an open store works with. */
export interface OpenStoreOptions {
  readonly path: string;
  readonly keepForMs: number;
  readonly maxBytes: number | undefined;
  readonly context: StoreContext;
  /** Releases the lock on the file. */
  readonly unlock: () => void;
}

/** A delivery that was just stored, and its position in the table. */
interface StoredDelivery {
  readonly seq: number;
  readonly due: DueDelivery;
}

/** A database that is open: its tables, its group commit, and a lane for each destination being served. */
export class OpenStore {
  readonly #db: Database.Database;
  readonly #options: OpenStoreOptions;
  readonly #table: DeliveryTable;
  readonly #log: DeliveryLog;
  readonly #profiles: ProfileTable;
  readonly #counter: DeliveryCounter;
  readonly #retention: Retention;
  /** Undefined: the file may grow without limit. */
  readonly #room: FileRoom | undefined;
  readonly #writes: WriteQueue;
  readonly #lanes = new Map<string, Lane>();
  /** Calls of the present transaction by source, so that it counts them in one write. */
  readonly #usage = new Map<string, number>();
  /** Destinations with something new since the last commit. */
  readonly #stirred = new Set<string>();

  constructor(db: Database.Database, options: OpenStoreOptions) {
    this.#db = db;
    this.#options = options;
    this.#table = new DeliveryTable(db);
    this.#log = new DeliveryLog(db);
    this.#profiles = new ProfileTable(db);
    this.#counter = new DeliveryCounter(db);
    this.#retention = new Retention(db, options.keepForMs);
    const { path, maxBytes } = options;
    this.#room = maxBytes === undefined ? undefined : new FileRoom(db, path, maxBytes);
    this.#writes = new WriteQueue(db, options.path, {
      begin: () => this.#usage.clear(),
      finish: () => this.#profiles.addUsage(this.#usage),
      flushed: this.#flushed,
    });
  }

  accept(acceptance: Acceptance): Promise<void> {
    const { messages, deliveries, usage, traits } = acceptance;
    let removed: readonly DeliveryCount[] = [];
    let stored: StoredDelivery[] = [];
    const run = (): void => {
      const positions = messages.map((message) => this.#table.insertMessage(message));
      stored = [];
      for (const delivery of deliveries) {
        const position = positions[delivery.message];
        const message = messages[delivery.message];
        if (position === undefined || message === undefined)
          throw new TypeError("A delivery names no message.");
        const seq = this.#table.insertDelivery(delivery, position, message.acceptedAt);
        stored.push({ seq, due: firstRoundOf(delivery, message) });
      }
      for (const [source, calls] of usage ?? [])
        this.#usage.set(source, (this.#usage.get(source) ?? 0) + calls);
      if (traits !== undefined) this.#profiles.changeTraits(traits);
      if (this.#room === undefined) return;
      removed = this.#makeRoom(this.#room);
      this.#room.assertRoom();
    };
    return this.#writes.add(run, () => {
      for (const { seq, due } of stored) {
        const { destination } = due.delivery;
        this.#counter.added(destination);
        this.#lanes.get(destination)?.offer(seq, due);
        this.#stirred.add(destination);
      }
      if (removed.length > 0) this.#counter.forget(removed);
    });
  }

  async repeat(id: string, next: { readonly id: string; readonly acceptedAt: number }): Promise<boolean> {
    const original = this.#log.find(id);
    if (original === undefined) return false;
    let found = false;
    await this.#writes.add(
      () => {
        found = this.#table.repeat(id, next.id, next.acceptedAt);
      },
      () => {
        if (!found) return;
        this.#counter.added(original.destination);
        this.#lanes.get(original.destination)?.stir();
        this.#stirred.add(original.destination);
      },
    );
    return found;
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const { clock, failed } = this.#options.context;
    const lane = new Lane({
      destination,
      concurrency,
      handler,
      table: this.#table,
      clock,
      failed,
      settle: this.#settle,
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

  list(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return this.#log.list(filter);
  }

  counts(): ReadonlyMap<string, DeliveryCounts> {
    return this.#counter.counts();
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

  readonly #settle: LaneOptions["settle"] = (seq, due, settlement, committed) => {
    const { destination, id } = due.delivery;
    let removed: readonly DeliveryCount[] = [];
    return this.#writes.add(
      () => {
        if (this.#room !== undefined) removed = this.#makeRoom(this.#room);
        this.#table.settle(seq, settlement, this.#room?.left() ?? "ample");
      },
      () => {
        committed();
        if (removed.length > 0) this.#counter.forget(removed);
        this.#stirred.add(destination);
        if (settlement.state === "pending") {
          this.#lanes.get(destination)?.stir();
        } else {
          this.#counter.ended(destination, settlement.state);
          this.#options.context.ended(id);
        }
      },
    );
  };

  /** In a file of limited size, removes what ended first until there is room or nothing more to remove. */
  #makeRoom(room: FileRoom): readonly DeliveryCount[] {
    const removed: DeliveryCount[] = [];
    while (room.left() !== "ample") {
      const few = this.#retention.removeOldest();
      if (few.length === 0) break;
      removed.push(...few);
    }
    return removed;
  }

  readonly #flushed = (): void => {
    for (const destination of this.#stirred) this.#lanes.get(destination)?.pump();
    this.#stirred.clear();
    try {
      this.#counter.forget(this.#retention.sweep(this.#options.context.clock.now()));
    } catch (error) {
      this.#options.context.failed(error instanceof Error ? error : new Error(String(error)));
    }
  };
}

/** What the table would say of a delivery that was just stored. */
function firstRoundOf({ id, destination }: NewDelivery, message: NewMessage): DueDelivery {
  const { body, ...info } = message;
  return {
    delivery: { id, ...info, destination },
    rounds: 0,
    dueAt: message.acceptedAt,
    progress: {},
    body,
  };
}
