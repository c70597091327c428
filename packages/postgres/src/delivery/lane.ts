import { Bag, type BagItem, type Clock, type ScheduledTask } from "@countersign/protocol";
import type { DeliveryHandler, DueDelivery } from "@countersign/sender/store";

/** A delivery that was claimed and is not settled. */
export interface HandOver extends BagItem {
  readonly lane: Lane;
  readonly due: DueDelivery;
  /** The worker that claimed it, and the number of the claim. */
  readonly worker: string;
  readonly claim: number;
  /** Aborted when the claim is lost. */
  readonly signal: AbortSignal;
  /** When it was handed over, by `performance.now()`. */
  readonly since: number;
}

/** What a lane serves. */
export interface LaneOptions {
  readonly source: string;
  readonly destination: string;
  /** How many deliveries may be in progress at once, in all processes together. */
  readonly concurrency: number;
  readonly handler: DeliveryHandler;
  readonly clock: Clock;
  /** Called when a delivery falls due at a time that the lane waited for. */
  readonly wake: (lane: Lane) => void;
  /** Whether other processes have the store open, which could deliver what would wait here. */
  readonly hasOthers: () => boolean;
  /** How many bytes of bodies wait for a place, in all lanes of this process. */
  readonly memory: { bytes: number };
}

/** How long a delivery may wait for a place while another process may have one, in milliseconds. */
const AHEAD_MS = 250;

/** The weight of the last attempt in the moving average of how long attempts take. */
const WEIGHT = 0.1;

/** What waits for a place is in memory: at most so many deliveries in a lane, and so many bytes of bodies in all lanes. */
const MOST_AHEAD = 4_000;
const MOST_BYTES = 64_000_000;

/** A lane claims more when so little is left of what may wait: a few large commands cost less than many small ones. */
const LOW_WATER = 0.5;

/**
 * One destination that is served: its claimed deliveries, and what is known of those that are due. It only counts: `Claimer`
 * claims for it, and `Dispatcher` hands over.
 */
export class Lane {
  readonly options: LaneOptions;
  /** The deliveries that are claimed and not settled. */
  readonly inFlight: Bag<HandOver> = new Bag();
  /** Those of `inFlight` that wait for a place. */
  readonly #waiting: HandOver[] = [];
  /** How many of `inFlight` are being delivered. */
  delivering = 0;
  #averageMs: number | undefined;
  /** How many places are kept for deliveries that a command is storing or claiming. */
  reserved = 0;
  isStopped = false;
  /** Whether everything that is due is claimed, as far as is known. */
  #isDrained = false;
  /** Counts the calls of `stir`, so that a claim that began before one does not take the lane for drained. */
  #stirs = 0;
  #wake: { readonly at: number; readonly task: ScheduledTask } | undefined;
  #whenEmpty: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.options = options;
  }

  get isDrained(): boolean {
    return this.#isDrained;
  }

  get stirs(): number {
    return this.#stirs;
  }

  /** The table may have something due that this lane does not know of. */
  stir(): void {
    this.#isDrained = false;
    this.#stirs += 1;
  }

  /** How many stored deliveries it may claim now: 0 as long as enough wait for a place. */
  room(share: number): number {
    const room = this.roomForNew(share);
    const ahead = this.#ahead(share);
    return room >= ahead * LOW_WATER ? room : 0;
  }

  /** How many new deliveries it may claim with the command that stores them, which saves reading them back. */
  roomForNew(share: number): number {
    const ahead = this.#ahead(share);
    const places = share - this.delivering - this.#waiting.length - this.reserved;
    const claimed = this.inFlight.size + this.reserved;
    return Math.max(Math.min(places + ahead, share * 2 + ahead - claimed), 0);
  }

  /** How many may wait for a place. Beside other processes: as many as get one within `AHEAD_MS`, judged by how long attempts take. */
  #ahead(share: number): number {
    const { memory, hasOthers } = this.options;
    if (memory.bytes > MOST_BYTES) return 0;
    if (!hasOthers()) return MOST_AHEAD;
    if (this.#averageMs === undefined) return share;
    const inTime = (share * AHEAD_MS) / Math.max(this.#averageMs, 1) - share;
    return Math.floor(Math.min(Math.max(inTime, 0), MOST_AHEAD));
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** A delivery waits for a place. */
  wait(handOver: HandOver): void {
    this.#waiting.push(handOver);
    this.options.memory.bytes += handOver.due.body.length;
  }

  /** The one that has waited for the longest. */
  nextWaiting(): HandOver | undefined {
    const next = this.#waiting.shift();
    if (next !== undefined) this.options.memory.bytes -= next.due.body.length;
    return next;
  }

  /** Removes and returns those that came last and would wait for too long. `now` is of `performance.now()`. */
  takeLate(share: number, now: number): readonly HandOver[] {
    const [first] = this.#waiting;
    // Attempts that are still in progress are not in the average. That the first one waits shows that they are slow.
    const waitedMs = first === undefined ? 0 : now - first.since;
    if (waitedMs > AHEAD_MS * 2) this.#averageMs = Math.max(this.#averageMs ?? 0, waitedMs);
    return this.takeWaiting(this.#ahead(share));
  }

  /** Removes and returns all that wait, except the first `kept`. */
  takeWaiting(kept = 0): readonly HandOver[] {
    const taken = this.#waiting.splice(kept);
    for (const { due } of taken) this.options.memory.bytes -= due.body.length;
    return taken;
  }

  /** How many more it may deliver. */
  places(share: number): number {
    return share - this.delivering;
  }

  /** Adds to the average how long an attempt took. */
  took(ms: number): void {
    this.#averageMs = this.#averageMs === undefined ? ms : this.#averageMs + (ms - this.#averageMs) * WEIGHT;
  }

  /** Whether nothing is due before a delivery that is about to be stored, so that it may be claimed as it is stored. */
  isNext(dueAt: number): boolean {
    const isFirst = this.#isDrained && (this.#wake === undefined || this.#wake.at > dueAt);
    return isFirst && !this.isStopped && dueAt <= this.options.clock.now();
  }

  /**
   * Called when a claim found fewer deliveries than it had room for. If the lane was stirred since the claim began, more may be due.
   *
   * @param stirs The value of `stirs` when the claim began.
   * @param nextDueAt When the next delivery is due. The claim does not know of one that was stored meanwhile to be due
   *   later; whoever stored that has called `wakeBy`.
   */
  drained(stirs: number, nextDueAt: number | undefined): void {
    if (stirs !== this.#stirs) return;
    this.#isDrained = true;
    if (nextDueAt !== undefined) this.wakeBy(nextDueAt);
  }

  /** Wakes the lane at this time, or earlier. */
  wakeBy(at: number): void {
    if (this.isStopped || (this.#wake !== undefined && this.#wake.at <= at)) return;
    this.#wake?.task.cancel();
    const { clock, wake } = this.options;
    const task = clock.schedule(at, () => {
      this.#wake = undefined;
      this.stir();
      wake(this);
    });
    this.#wake = { at, task };
  }

  forget(handOver: HandOver): void {
    this.inFlight.delete(handOver);
    this.checkEmpty();
  }

  checkEmpty(): void {
    if (this.inFlight.size + this.reserved > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** Takes nothing more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.#wake?.task.cancel();
    this.#wake = undefined;
    if (this.inFlight.size + this.reserved > 0)
      await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }
}
