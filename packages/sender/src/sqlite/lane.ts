import type { Clock, ScheduledTask } from "@countersign/protocol";
import type { Consumer, DeliveryHandler } from "../store/delivery-store.ts";
import type { DueDelivery, Settlement } from "../delivery/delivery.ts";
import type { DeliveryTable } from "./delivery-table.ts";

/** One process owns the file: no claim is ever lost. */
const NEVER_LOST = new AbortController().signal;

/** How long a lane waits before it tries a store again that failed. */
const RECOVERY_MS = 1_000;

/** What a lane needs of its store. */
export interface LaneOptions {
  readonly destination: string;
  readonly concurrency: number;
  readonly handler: DeliveryHandler;
  readonly table: DeliveryTable;
  readonly clock: Clock;
  /**
   * Stores a settlement and calls `committed`, then `stir` if it is due again, then `pump`; rejects when it could not be
   * stored.
   */
  readonly settle: (
    seq: number,
    due: DueDelivery,
    settlement: Settlement,
    committed: () => void,
  ) => Promise<void>;
  readonly failed: (error: Error) => void;
}

/**
 * Hands over the due deliveries of one destination: those that were just stored from memory, the others from the table.
 *
 * Claims are kept in memory only: one process owns the file, and what it had claimed when it died is simply still
 * pending. Claimed deliveries are the longest due, so they are the first that the index yields; asking for as many
 * rows as are claimed and free bounds the cost of a claim, whatever the backlog.
 */
export class Lane implements Consumer {
  readonly #options: LaneOptions;
  readonly #claimed = new Set<number>();
  #wake: { readonly at: number; readonly task: ScheduledTask } | undefined;
  #stopped = false;
  /** Whether everything that is due is claimed: nothing has to be looked up. */
  #isDrained = false;
  readonly #pauses = new Set<() => void>();
  #whenEmpty: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Claims a delivery that was just stored, if it is the next one and there is room. Else `pump` finds it in the table. */
  offer(seq: number, due: DueDelivery): void {
    const { concurrency, clock } = this.#options;
    const isNext = this.#isDrained && (this.#wake === undefined || this.#wake.at > due.dueAt);
    // After the system's time was set back, it may not be due yet.
    const isDue = due.dueAt <= clock.now();
    if (isNext && isDue && !this.#stopped && this.#claimed.size < concurrency) void this.#run(seq, due);
    else this.stir();
  }

  /** Whether a delivery was handed over and is not settled yet. */
  isClaimed(seq: number): boolean {
    return this.#claimed.has(seq);
  }

  /** The table has something due, or due later, that this lane does not know of. */
  stir(): void {
    this.#isDrained = false;
  }

  /** Claims what is due and has room. */
  pump(): void {
    const { destination, concurrency, table, clock } = this.#options;
    const room = concurrency - this.#claimed.size;
    if (this.#isDrained || this.#stopped || room <= 0) return;
    try {
      const now = clock.now();
      const rows = table.due(destination, now, room, this.#claimed);
      for (const { seq, due } of rows) void this.#run(seq, due);
      // A full lane pumps again when a delivery settles.
      if (rows.length < room) {
        this.#wakeAt(table.nextDueAt(destination, now));
        this.#isDrained = true;
      }
    } catch (error) {
      this.#report(error);
      this.#wakeAt(clock.now() + RECOVERY_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeAt(undefined);
    for (const resume of this.#pauses) resume();
    if (this.#claimed.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  async #run(seq: number, due: DueDelivery): Promise<void> {
    this.#claimed.add(seq);
    const release = this.#options.clock.hold();
    const settlement = await this.#options.handler.deliver(due, NEVER_LOST);
    await this.#settle(seq, due, settlement, release);
  }

  /**
   * A settlement that cannot be stored is stored later: to deliver again instead would repeat the message for as long
   * as the disk is full. Until then it keeps its place, so that a store in trouble is given no more work.
   */
  async #settle(seq: number, due: DueDelivery, settlement: Settlement, release: () => void): Promise<void> {
    try {
      await this.#options.settle(seq, due, settlement, () => {
        this.#claimed.delete(seq);
        this.#options.handler.settled(due, settlement);
      });
      release();
    } catch (error) {
      this.#report(error);
      // What is given up when the lane stops is delivered again after a restart: at least once.
      if (this.#stopped) this.#claimed.delete(seq);
      release();
      if (!this.#stopped) {
        await this.#pause();
        await this.#settle(seq, due, settlement, this.#options.clock.hold());
      }
    }
    if (this.#claimed.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #pause(): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const resume = (): void => {
        task.cancel();
        this.#pauses.delete(resume);
        resolve();
      };
      const task = clock.schedule(clock.now() + RECOVERY_MS, resume);
      this.#pauses.add(resume);
    });
  }

  #wakeAt(at: number | undefined): void {
    if (this.#wake?.at === at) return;
    this.#wake?.task.cancel();
    this.#wake = undefined;
    if (at === undefined) return;
    const task = this.#options.clock.schedule(at, () => {
      this.#wake = undefined;
      this.stir();
      this.pump();
    });
    this.#wake = { at, task };
  }

  #report(error: unknown): void {
    this.#options.failed(error instanceof Error ? error : new Error(String(error)));
  }
}
