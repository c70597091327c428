import { type Clock, isError, type ScheduledTask } from "@countersign/protocol";
import type { Consumer, DeliveryHandler } from "../store/delivery-store.ts";
import type { Settlement } from "../delivery/delivery.ts";
import type { DeliveryTable, DueRow } from "./delivery-table.ts";
import type { Memory } from "./memory.ts";
import { type Settlements, SettlementWrite } from "./settlement-table.ts";
import type { WriteQueue } from "./write-queue.ts";

/** One process owns the file: no claim is ever lost. */
const NEVER_LOST = new AbortController().signal;

/** How long a lane waits before it tries a store again that failed. */
const RECOVERY_MS = 1_000;

/** How many deliveries at least may wait in memory that were read from the table. */
const LEAST_AHEAD = 10;

/** The parts of its store that a lane uses. */
export interface LaneOptions {
  readonly destination: string;
  readonly concurrency: number;
  readonly handler: DeliveryHandler;
  readonly table: DeliveryTable;
  readonly clock: Clock;
  /** For deliveries that are due and wait for a place. */
  readonly memory: Memory;
  /** Has `free` called in the next turn of the event loop, when the connection of a delivery that has ended is free. */
  readonly freeSoon: () => void;
  readonly writes: Pick<WriteQueue, "addSettlement">;
  readonly settlements: Settlements;
  /** Lanes whose `finish` is called when everything of the turn is committed, and what is due next is claimed. */
  readonly finishing: Set<Lane>;
  readonly ended: (id: string) => void;
  readonly failed: (error: Error) => void;
}

/**
 * Hands over the due deliveries of one destination: those that were just stored from memory, the others from the table.
 *
 * Claims are kept in memory only: one process owns the file, and what it had claimed when it died is simply still
 * pending. What waits in memory for a place (`#ahead`) is always due longer than what only the table has.
 */
export class Lane implements Consumer {
  readonly #options: LaneOptions;
  /** What was handed over and is not settled in the table. */
  readonly #claimed = new Set<number>();
  /** How many places are taken, and how many of them are about to be free: those of deliveries that have ended. */
  #taken = 0;
  #ended = 0;
  #ahead: DueRow[] = [];
  #wake: { readonly at: number; readonly task: ScheduledTask } | undefined;
  #stopped = false;
  /** Whether everything that is due is claimed or in memory: nothing has to be looked up. */
  #isDrained = false;
  readonly #pauses = new Set<() => void>();
  /** Of settlements that were committed in this turn, or failed. */
  #releases: (() => void)[] = [];
  #whenEmpty: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Takes a delivery that was just stored, if it is the next one and there is room. Else `pump` finds it in the table. */
  offer(row: DueRow): void {
    if (!this.#isDrained || this.#stopped) return;
    const { clock, memory } = this.#options;
    const { dueAt } = row.due;
    const isLast = (this.#wake?.at ?? Number.POSITIVE_INFINITY) > dueAt && this.#lastAt() <= dueAt;
    // After the system's time was set back, it may not be due yet.
    if (!isLast || dueAt > clock.now()) this.stir(dueAt);
    else if (this.#room() > 0 && this.#ahead.length === 0) void this.#run(row);
    else if (memory.take(row)) this.#ahead.push(row);
    else this.#isDrained = false;
  }

  /** Whether a delivery was handed over and is not settled yet. */
  isClaimed(seq: number): boolean {
    return this.#claimed.has(seq);
  }

  /** The table has something due at a time, or due later, that this lane does not know of. */
  stir(dueAt: number): void {
    // Nothing has to be looked up before then.
    if (this.#isDrained && dueAt > this.#options.clock.now()) {
      if ((this.#wake?.at ?? Number.POSITIVE_INFINITY) > dueAt) this.#wakeAt(dueAt);
      return;
    }
    this.#isDrained = false;
    if (this.#lastAt() >= dueAt) this.#forgetAhead();
  }

  /** Gives the places of deliveries that have ended to others. */
  free(): void {
    this.#taken -= this.#ended;
    this.#ended = 0;
    this.pump();
  }

  /** Claims what is due and has room. */
  pump(): void {
    const { memory } = this.#options;
    while (this.#ahead.length > 0 && this.#room() > 0 && !this.#stopped) {
      const row = this.#ahead.shift();
      if (row === undefined) return;
      memory.give(row);
      void this.#run(row);
    }
    if (!this.#isDrained && !this.#stopped && this.#canRead()) this.#read();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeAt(undefined);
    this.#forgetAhead();
    for (const resume of this.#pauses) resume();
    if (this.#claimed.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  /**
   * Whether there is room for more, or few wait. A full lane reads ahead, too: what is accepted while something that is due is
   * only in the table has to be read from the table as well.
   */
  #canRead(): boolean {
    return this.#room() > 0 || (this.#ahead.length < this.#mostAhead && !this.#options.memory.isFull);
  }

  /** Reads what fits, and as much again, so that the table is not asked for each. */
  #read(): void {
    const { destination, table, clock, memory } = this.#options;
    try {
      const now = clock.now();
      const room = this.#room();
      const known = [...this.#claimed, ...this.#ahead.map(({ seq }) => seq)];
      const limit = room + this.#mostAhead;
      const rows = table.due(destination, now, limit, known);
      const waiting = rows.slice(room);
      const remembered = waiting.findIndex((row) => !memory.take(row));
      this.#ahead.push(...(remembered === -1 ? waiting : waiting.slice(0, remembered)));
      this.#isDrained = remembered === -1 && rows.length < limit;
      if (this.#isDrained) this.#wakeAt(table.nextDueAt(destination, now));
      for (const row of rows.slice(0, room)) void this.#run(row);
    } catch (error) {
      this.#options.failed(isError(error) ? error : new Error(String(error)));
      this.#wakeAt(clock.now() + RECOVERY_MS);
    }
  }

  async #run(row: DueRow): Promise<void> {
    this.#claimed.add(row.seq);
    this.#taken += 1;
    const release = this.#options.clock.hold();
    const settlement = await this.#options.handler.deliver(row.due, NEVER_LOST);
    const hasEnded = settlement.state !== "pending";
    if (hasEnded) {
      // The next one need not wait until this is stored. One that is due again keeps its place: it may be the next.
      this.#ended += 1;
      this.#options.freeSoon();
    }
    this.#settle(row, settlement, !hasEnded, release);
  }

  #settle(row: DueRow, settlement: Settlement, hasPlace: boolean, release: () => void): void {
    const { writes, settlements } = this.#options;
    const write = new SettlementWrite(settlements, this, row, settlement, hasPlace, release);
    writes.addSettlement(write, this.#stopped);
  }

  /** A settlement was stored. */
  settled(write: SettlementWrite): void {
    const { handler, ended } = this.#options;
    const { row, settlement } = write;
    this.#done(write);
    handler.settled(row.due, settlement);
    if (settlement.state !== "pending") ended(row.due.delivery.id);
  }

  /**
   * A settlement that cannot be stored is stored later: to deliver again instead would repeat the message for as long
   * as the disk is full. Until then it keeps a place, so that a store in trouble is given no more work.
   */
  unsettled(write: SettlementWrite, error: Error): void {
    this.#options.failed(error);
    this.#done(write);
    // Deliveries that are abandoned when the lane stops are delivered again after a restart: at least once.
    if (!this.#stopped) this.#settleLater(write.row, write.settlement);
  }

  /** A virtual clock may move on only now, when everything is committed and the lane waits for what is due next. */
  finish(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
    if (this.#claimed.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #done({ row, hasPlace, release }: SettlementWrite): void {
    this.#claimed.delete(row.seq);
    if (hasPlace) this.#taken -= 1;
    this.#releases.push(release);
    this.#options.finishing.add(this);
  }

  #settleLater(row: DueRow, settlement: Settlement): void {
    const { clock } = this.#options;
    this.#claimed.add(row.seq);
    this.#taken += 1;
    const resume = (): void => {
      task.cancel();
      this.#pauses.delete(resume);
      this.#settle(row, settlement, true, clock.hold());
    };
    const task = clock.schedule(clock.now() + RECOVERY_MS, resume);
    this.#pauses.add(resume);
  }

  get #mostAhead(): number {
    return Math.max(this.#options.concurrency, LEAST_AHEAD);
  }

  #room(): number {
    return this.#options.concurrency - this.#taken;
  }

  #lastAt(): number {
    return this.#ahead.at(-1)?.due.dueAt ?? Number.NEGATIVE_INFINITY;
  }

  #forgetAhead(): void {
    for (const row of this.#ahead) this.#options.memory.give(row);
    this.#ahead = [];
  }

  #wakeAt(at: number | undefined): void {
    if (this.#wake?.at === at) return;
    this.#wake?.task.cancel();
    this.#wake = undefined;
    if (at === undefined) return;
    const task = this.#options.clock.schedule(at, () => {
      this.#wake = undefined;
      this.stir(at);
      this.pump();
    });
    this.#wake = { at, task };
  }
}
