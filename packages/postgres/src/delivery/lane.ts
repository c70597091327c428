import type { Clock, ScheduledTask } from "@countersign/protocol";
import type { DeliveryHandler, DueDelivery } from "@countersign/sender/store";

/** A delivery that was claimed and is not settled. */
export interface HandOver {
  readonly lane: Lane;
  readonly due: DueDelivery;
  /** The worker that claimed it, and the number of the claim. */
  readonly worker: string;
  readonly claim: number;
  /** Aborted when the claim is lost. */
  readonly signal: AbortSignal;
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
}

/** Attempts that take less, on average, leave time to claim the next deliveries before there is a place for them. */
const QUICK_MS = 50;

/** How much of the average the last attempt makes up. */
const WEIGHT = 0.1;

/** For each place, how many deliveries may be claimed, being settled or waiting for it included. */
const CLAIMS_FOR_PLACE = 3;

/** One destination being served: what is under way, and what is known of what is due. */
export class Lane {
  readonly options: LaneOptions;
  /** Claimed and not settled, by id. */
  readonly inFlight: Map<string, HandOver> = new Map();
  /** Of them, those that wait for a place. */
  readonly waiting: HandOver[] = [];
  /** Of them, those that are being delivered. */
  delivering = 0;
  #averageMs = 0;
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

  /** How many more it may claim. Where attempts are slow, no more than there are places: another worker may have one. */
  room(share: number): number {
    const claimed = this.inFlight.size + this.reserved;
    const places = share - this.delivering - this.waiting.length - this.reserved;
    const isQuick = this.#averageMs < QUICK_MS;
    return Math.max(Math.min(isQuick ? places + share : places, share * CLAIMS_FOR_PLACE - claimed), 0);
  }

  /** How many more it may deliver. */
  places(share: number): number {
    return share - this.delivering;
  }

  /** An attempt took so long. */
  took(ms: number): void {
    this.#averageMs += (ms - this.#averageMs) * WEIGHT;
  }

  /** Whether a delivery that is being stored is the next one, so that it may be taken at once. */
  isNext(dueAt: number): boolean {
    const isFirst = this.#isDrained && (this.#wake === undefined || this.#wake.at > dueAt);
    return isFirst && !this.isStopped && dueAt <= this.options.clock.now();
  }

  /** A claim found less than there was room for; `stirs` is how often it had been stirred when it began. */
  drained(stirs: number, nextDueAt: number | undefined): void {
    if (stirs !== this.#stirs) return;
    this.#isDrained = true;
    this.wakeAt(nextDueAt);
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
    const { id } = handOver.due.delivery;
    if (this.inFlight.get(id) === handOver) this.inFlight.delete(id);
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
