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
  /** In all processes. */
  readonly concurrency: number;
  readonly handler: DeliveryHandler;
  readonly clock: Clock;
  /** Something falls due. */
  readonly wake: (lane: Lane) => void;
  /** Whether other processes may have a place for what would wait here. */
  readonly hasOthers: () => boolean;
  /** Bytes of the bodies that wait in any lane. */
  readonly memory: { bytes: number };
}

/** How long a delivery may wait for a place while another process may have one, in milliseconds. */
const AHEAD_MS = 250;

/** How much of the average the last attempt makes up. */
const WEIGHT = 0.1;

/** What may wait for a place at most, in a lane and, of bodies, in all lanes: it is in memory. */
const MOST_AHEAD = 4_000;
const MOST_BYTES = 64_000_000;

/** Of what may wait, the part that is left when more is claimed: few large commands cost less than many small ones. */
const LOW_WATER = 0.5;

/** One destination being served: what is under way, and what is known of what is due. */
export class Lane {
  readonly options: LaneOptions;
  /** Claimed and not settled. */
  readonly inFlight: Bag<HandOver> = new Bag();
  /** Of them, those that wait for a place. */
  readonly #waiting: HandOver[] = [];
  /** Of them, those that are being delivered. */
  delivering = 0;
  #averageMs: number | undefined;
  /** Places for deliveries that are being stored or claimed at this moment. */
  reserved = 0;
  isStopped = false;
  /** Whether everything that is due is claimed, as far as is known. */
  #isDrained = false;
  /** Counts what was heard of, so that a claim under way does not miss it. */
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

  /** How many more it may claim, of those that are stored already: none while enough of them wait. */
  room(share: number): number {
    const room = this.roomForNew(share);
    const ahead = this.#ahead(share);
    return room >= ahead * LOW_WATER ? room : 0;
  }

  /** How many more it may take as they are stored. What it can begin soon need not be claimed and read back. */
  roomForNew(share: number): number {
    const ahead = this.#ahead(share);
    const places = share - this.delivering - this.#waiting.length - this.reserved;
    const claimed = this.inFlight.size + this.reserved;
    return Math.max(Math.min(places + ahead, share * 2 + ahead - claimed), 0);
  }

  /** How many may wait for a place: where others deliver, as many as get one in time, by how long attempts take. */
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

  /** Those that came last and would wait for too long, `now` by `performance.now()`; they wait no more. */
  takeLate(share: number, now: number): readonly HandOver[] {
    const [first] = this.#waiting;
    // Attempts that have not ended yet tell nothing of how long they take.
    const waitedMs = first === undefined ? 0 : now - first.since;
    if (waitedMs > AHEAD_MS * 2) this.#averageMs = Math.max(this.#averageMs ?? 0, waitedMs);
    return this.takeWaiting(this.#ahead(share));
  }

  /** All that wait but the first `kept`; they wait no more. */
  takeWaiting(kept = 0): readonly HandOver[] {
    const taken = this.#waiting.splice(kept);
    for (const { due } of taken) this.options.memory.bytes -= due.body.length;
    return taken;
  }

  /** How many more it may deliver. */
  places(share: number): number {
    return share - this.delivering;
  }

  /** An attempt took so long. */
  took(ms: number): void {
    this.#averageMs = this.#averageMs === undefined ? ms : this.#averageMs + (ms - this.#averageMs) * WEIGHT;
  }

  /** Whether a delivery that is being stored is the next one, so that it may be taken at once. */
  isNext(dueAt: number): boolean {
    const isFirst = this.#isDrained && (this.#wake === undefined || this.#wake.at > dueAt);
    return isFirst && !this.isStopped && dueAt <= this.options.clock.now();
  }

  /**
   * A claim found less than there was room for; `stirs` is how often it had been stirred when it began. It does not know of what was
   * stored to be due later while it was under way: who knows of that has set the time to wake by.
   */
  drained(stirs: number, nextDueAt: number | undefined): void {
    if (stirs !== this.#stirs) return;
    this.#isDrained = true;
    if (nextDueAt !== undefined) this.wakeBy(nextDueAt);
  }

  /** Something falls due at this time. */
  wakeAt(at: number | undefined): void {
    if (this.#wake?.at === at) return;
    this.#wake?.task.cancel();
    this.#wake = undefined;
    if (at === undefined || this.isStopped) return;
    const { clock, wake } = this.options;
    const task = clock.schedule(at, () => {
      this.#wake = undefined;
      this.stir();
      wake(this);
    });
    this.#wake = { at, task };
  }

  /** It is woken at this time at the latest. */
  wakeBy(at: number): void {
    if (this.#wake === undefined || this.#wake.at > at) this.wakeAt(at);
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
    this.wakeAt(undefined);
    if (this.inFlight.size + this.reserved > 0)
      await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }
}
