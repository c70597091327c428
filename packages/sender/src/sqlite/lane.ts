import { clearImmediate, setImmediate } from "node:timers";
import { errorOf, type ScheduledTask } from "@countersign/protocol";
import type { Settlement } from "../delivery/delivery.ts";
import type { Consumer, DeliveryHandler, StoreContext } from "../store/delivery-store.ts";
import type { DeliveryCounter } from "./delivery-counter.ts";
import type { DeliveryTable, DueRow } from "./delivery-table.ts";
import type { SettlementTable } from "./settlement-table.ts";
import type { WaitingBudget } from "./waiting-budget.ts";
import type { Write, WriteQueue } from "./write-queue.ts";

/** One process owns the file: no claim is ever lost. */
const NEVER_LOST = new AbortController().signal;

/** How long a lane waits before it tries a store again that failed. */
const RECOVERY_MS = 1_000;

/** How many deliveries at least may wait in memory that were read from the table. */
const LEAST_AHEAD = 10;

/** The parts of its store that a lane uses. All lanes have the same. */
export interface LaneParts {
  readonly table: DeliveryTable;
  readonly settlements: SettlementTable;
  readonly counter: DeliveryCounter;
  readonly writes: WriteQueue;
  readonly context: Pick<StoreContext, "clock" | "ended" | "failed">;
  /** A lane was woken that had asked for this time. */
  readonly woken: (at: number) => void;
  /** For deliveries that are due and wait for a place. */
  readonly budget: WaitingBudget;
  /** Lanes whose `pump` and `finish` are called when everything of the turn is committed. */
  readonly stirred: Set<Lane>;
}

/**
 * Hands over the due deliveries of one destination: those that were just stored from memory, the others from the table.
 *
 * Claims are kept in memory only: one process owns the file, and what it had claimed when it died is simply still
 * pending. What waits in memory for a place (`#ahead`) is always due longer than what only the table has.
 */
export class Lane implements Consumer {
  readonly #parts: LaneParts;
  readonly #destination: string;
  readonly #concurrency: number;
  readonly #handler: DeliveryHandler;
  /** What was handed over and is not settled in the table. */
  readonly #claimed = new Set<number>();
  /** How many places are taken, and how many of them are about to be free: those of deliveries that have ended. */
  #taken = 0;
  #ended = 0;
  #freeing: NodeJS.Immediate | undefined;
  #ahead: DueRow[] = [];
  #wake: { readonly at: number; readonly task: ScheduledTask } | undefined;
  #stopped = false;
  /** Whether everything that is due is claimed or in memory: nothing has to be looked up. */
  #isDrained = false;
  readonly #pauses = new Set<() => void>();
  /** Of settlements that were committed in this turn, or failed. */
  #releases: (() => void)[] = [];
  #whenEmpty: (() => void)[] = [];

  constructor(parts: LaneParts, destination: string, concurrency: number, handler: DeliveryHandler) {
    this.#parts = parts;
    this.#destination = destination;
    this.#concurrency = concurrency;
    this.#handler = handler;
  }

  /** Takes a delivery that was just stored, if it is the next one and there is room. Else `pump` finds it in the table. */
  offer(row: DueRow): void {
    const { context, budget, stirred } = this.#parts;
    stirred.add(this);
    if (!this.#isDrained || this.#stopped) return;
    const { dueAt } = row.due;
    const isLast = (this.#wake?.at ?? Number.POSITIVE_INFINITY) > dueAt && this.#lastAt() <= dueAt;
    // After the system's time was set back, it may not be due yet.
    if (!isLast || dueAt > context.clock.now()) this.stir(dueAt);
    else if (this.#room() > 0 && this.#ahead.length === 0) void this.#run(row);
    else if (budget.take(row)) this.#ahead.push(row);
    else this.#isDrained = false;
  }

  /** Whether a delivery was handed over and is not settled yet. */
  isClaimed(seq: number): boolean {
    return this.#claimed.has(seq);
  }

  /** The table has something due at a time, or due later, that this lane does not know of. */
  stir(dueAt: number): void {
    if (this.#stopped) return;
    const { context, stirred } = this.#parts;
    stirred.add(this);
    // Nothing has to be looked up before then.
    if (this.#isDrained && dueAt > context.clock.now()) {
      if ((this.#wake?.at ?? Number.POSITIVE_INFINITY) > dueAt) this.#wakeAt(dueAt);
      return;
    }
    this.#isDrained = false;
    if (this.#lastAt() >= dueAt) this.#forgetAhead();
  }

  /** Gives the places of deliveries that have ended to others. */
  readonly #free = (): void => {
    this.#taken -= this.#ended;
    this.#ended = 0;
    this.pump();
  };

  /** Claims what is due and has room. */
  pump(): void {
    const { budget } = this.#parts;
    while (this.#ahead.length > 0 && this.#room() > 0 && !this.#stopped) {
      const row = this.#ahead.shift();
      if (row === undefined) return;
      budget.giveBack(row);
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
    return this.#room() > 0 || (this.#ahead.length < this.#mostAhead && !this.#parts.budget.isSpent);
  }

  /** Reads what fits, and as much again, so that the table is not asked for each. */
  #read(): void {
    const { table, context, budget } = this.#parts;
    const { clock, failed } = context;
    try {
      const now = clock.now();
      const room = this.#room();
      const known = [...this.#claimed, ...this.#ahead.map(({ seq }) => seq)];
      const limit = room + this.#mostAhead;
      const rows = table.due(this.#destination, now, limit, known);
      const waiting = rows.slice(room);
      const remembered = waiting.findIndex((row) => !budget.take(row));
      this.#ahead.push(...(remembered === -1 ? waiting : waiting.slice(0, remembered)));
      this.#isDrained = remembered === -1 && rows.length < limit;
      if (this.#isDrained) this.#wakeAt(table.nextDueAt(this.#destination, now));
      for (const row of rows.slice(0, room)) void this.#run(row);
    } catch (error) {
      failed(errorOf(error));
      this.#wakeAt(clock.now() + RECOVERY_MS);
    }
  }

  async #run(row: DueRow): Promise<void> {
    this.#claimed.add(row.seq);
    this.#taken += 1;
    const release = this.#parts.context.clock.hold();
    const settlement = await this.#handler.deliver(row.due, NEVER_LOST);
    const hasEnded = settlement.state !== "pending";
    if (hasEnded) {
      // The next one need not wait until this is stored. One that is due again keeps its place: it may be the next.
      this.#ended += 1;
      // Anew each time: after whatever makes the connections free of all that have ended in this turn.
      clearImmediate(this.#freeing);
      this.#freeing = setImmediate(this.#free);
    }
    this.#settle(row, settlement, !hasEnded, release);
  }

  #settle(row: DueRow, settlement: Settlement, hasPlace: boolean, release: () => void): void {
    const { writes, settlements } = this.#parts;
    const write = new SettlementWrite(settlements, this, row, settlement, hasPlace, release);
    // After the last one, nothing is written with which it could be flushed to disk.
    if (this.#stopped) writes.add(write);
    else writes.addSettlement(write);
  }

  /** A settlement was stored. */
  settled(write: SettlementWrite): void {
    const { counter, context } = this.#parts;
    const { due } = write.row;
    const { settlement } = write;
    if (settlement.state === "pending") this.stir(settlement.dueAt);
    else counter.ended(due.delivery, settlement.state);
    this.#done(write);
    this.#handler.settled(due, settlement);
    if (settlement.state !== "pending") context.ended(due.delivery.id);
  }

  /**
   * A settlement that cannot be stored is stored later: to deliver again instead would repeat the message for as long
   * as the disk is full. Until then it keeps a place, so that a store in trouble is given no more work.
   */
  unsettled(write: SettlementWrite, error: Error): void {
    this.#parts.context.failed(error);
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
    this.#parts.stirred.add(this);
  }

  #settleLater(row: DueRow, settlement: Settlement): void {
    const { clock } = this.#parts.context;
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
    return Math.max(this.#concurrency, LEAST_AHEAD);
  }

  #room(): number {
    return this.#concurrency - this.#taken;
  }

  #lastAt(): number {
    return this.#ahead.at(-1)?.due.dueAt ?? Number.NEGATIVE_INFINITY;
  }

  #forgetAhead(): void {
    for (const row of this.#ahead) this.#parts.budget.giveBack(row);
    this.#ahead = [];
  }

  #wakeAt(at: number | undefined): void {
    if (this.#wake?.at === at) return;
    this.#wake?.task.cancel();
    this.#wake = undefined;
    if (at === undefined) return;
    const task = this.#parts.context.clock.schedule(at, () => {
      this.#wake = undefined;
      this.#parts.woken(at);
      this.stir(at);
      this.pump();
    });
    this.#wake = { at, task };
  }
}

/** A settlement until it is stored. There is one of each delivery: an object takes less memory than its functions would. */
class SettlementWrite implements Write {
  readonly row: DueRow;
  readonly settlement: Settlement;
  /** Whether the delivery keeps its place until then. */
  readonly hasPlace: boolean;
  /** Lets the clock go on. */
  readonly release: () => void;
  readonly #table: SettlementTable;
  readonly #lane: Lane;

  constructor(
    table: SettlementTable,
    lane: Lane,
    row: DueRow,
    settlement: Settlement,
    hasPlace: boolean,
    release: () => void,
  ) {
    this.#table = table;
    this.#lane = lane;
    this.row = row;
    this.settlement = settlement;
    this.hasPlace = hasPlace;
    this.release = release;
  }

  run(): void {
    this.#table.settle(this.row, this.settlement);
  }

  committed(): void {
    this.#lane.settled(this);
  }

  failed(error: Error): void {
    this.#lane.unsettled(this, error);
  }
}
