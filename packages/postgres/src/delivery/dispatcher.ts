import type { Clock } from "@countersign/protocol";
import {
  type Consumer,
  type DeliveryHandler,
  type DueDelivery,
  type Settlement,
  sourceOf,
} from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { bodylessError } from "../database/store-errors.ts";
import { decodeText, encodeText } from "../database/text.ts";
import type { Names } from "../schema/names.ts";
import { peekSql } from "../tables/claim-statement.ts";
import type { Bulletin } from "../workers/bulletin.ts";
import type { Claims } from "../workers/claims.ts";
import type { Membership } from "../workers/membership.ts";
import { Claimer } from "./claimer.ts";
import { type HandOver, Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import type { Settler } from "./settler.ts";

/** The parts of the store that a dispatcher uses. */
export interface DispatcherOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly clock: Clock;
  readonly claims: Claims;
  readonly settler: Settler;
  readonly lanes: Lanes;
  readonly membership: Membership;
  readonly bulletin: Bulletin;
  /** A delivery has ended. */
  readonly ended: (id: string) => void;
  readonly failed: (error: Error) => void;
}

/** Hands claimed deliveries over to the engine, as the lanes have room, and passes their settlements to the settler. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #claimer: Claimer;
  readonly #memory = { bytes: 0 };
  /** The lane of each delivery whose attempts ended in this turn of the event loop. Its connection is free in the next turn. */
  readonly #freeing: Lane[] = [];
  #turn: NodeJS.Immediate | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#claimer = new Claimer({
      ...options,
      handOver: (lane, due, worker, claim) => this.run(lane, due, worker, claim),
      bodyless: (lane, due, worker, claim) => this.#fail(lane, due, worker, claim),
    });
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const { clock, lanes, membership } = this.#options;
    const source = sourceOf(destination);
    const wake = ({ options }: Lane): void => this.pump(options.source);
    const lane = new Lane({
      source,
      destination,
      concurrency,
      handler,
      clock,
      wake,
      memory: this.#memory,
      hasOthers: () => membership.hasOthers,
    });
    lanes.add(lane);
    lane.stir();
    this.pump(source);
    return { stop: () => this.#stop(lane) };
  }

  /** Stops every lane; resolves when nothing is under way. */
  async close(): Promise<void> {
    await Promise.all(this.#options.lanes.all().map((lane) => this.#stop(lane)));
  }

  async #stop(lane: Lane): Promise<void> {
    const left = this.#options.lanes.leave(lane, lane.stop());
    this.pump(lane.options.source);
    for (const waiting of lane.takeWaiting()) void this.#giveBack(waiting);
    await left;
  }

  /** Looks for due deliveries of these destinations: others may have stored some. */
  stir(destinations: Iterable<string>): void {
    const sources = new Set<string>();
    for (const destination of destinations) {
      const lane = this.#options.lanes.of(destination);
      lane?.stir();
      if (lane !== undefined) sources.add(lane.options.source);
    }
    for (const source of sources) this.pump(source);
  }

  /** Looks for due deliveries of these destinations, for which something was stored here, and has others look. */
  stirEverywhere(destinations: readonly string[]): void {
    this.stir(destinations);
    this.#options.bulletin.tellStirred(destinations);
  }

  /** Looks for due deliveries of all destinations, and starts those that wait, since shares may have grown. */
  stirAll(): void {
    const lanes = this.#options.lanes.all();
    for (const lane of lanes) this.#startWaiting(lane);
    this.stir(lanes.map(({ options }) => options.destination));
  }

  /** Claims what is due, where there is room for it. */
  pump(source: string): void {
    this.#claimer.pump(source);
  }

  /** Asks the database, once for all destinations, when they are due next: a notice may be missing. */
  async peek(): Promise<void> {
    const { connections, names, clock } = this.#options;
    const lanes = this.#options.lanes.all();
    if (lanes.length === 0) return;
    const statement = { text: peekSql(names) };
    const of = (pick: (lane: Lane) => string): readonly string[] =>
      lanes.map((lane) => encodeText(pick(lane)));
    const rows = await connections.query<{ destination: string; due_at: number }>("work", statement, [
      of(({ options }) => options.source),
      of(({ options }) => options.destination),
    ]);
    const due: string[] = [];
    for (const { destination, due_at: dueAt } of rows) {
      const name = decodeText(destination);
      if (dueAt <= clock.now()) due.push(name);
      else this.#options.lanes.of(name)?.wakeBy(dueAt);
    }
    this.stir(due);
  }

  /** Hands a claimed delivery over as soon as it has a place. */
  run(lane: Lane, due: DueDelivery, worker: string, claim: number): void {
    const handOver = this.#handOver(lane, due, worker, claim);
    if (lane.isStopped) {
      void this.#giveBack(handOver);
      return;
    }
    lane.wait(handOver);
    this.#startWaiting(lane);
  }

  /** Ends a claimed delivery whose body somebody has removed: without it, it would be claimed again and again. */
  #fail(lane: Lane, due: DueDelivery, worker: string, claim: number): void {
    const { clock, failed } = this.#options;
    failed(bodylessError());
    const release = clock.hold();
    const settlement: Settlement = { state: "failed", endedAt: clock.now(), attempts: [] };
    this.#finish(this.#handOver(lane, due, worker, claim), settlement, release);
  }

  #handOver(lane: Lane, due: DueDelivery, worker: string, claim: number): HandOver {
    const { signal } = this.#options.claims;
    const handOver = { lane, due, worker, claim, signal, since: performance.now(), position: -1 };
    lane.inFlight.add(handOver);
    return handOver;
  }

  /** Gives back deliveries that would wait too long here, if other processes may have a place. */
  async giveBackLate(): Promise<void> {
    const { lanes, membership, bulletin } = this.#options;
    if (!membership.hasOthers) return;
    const now = performance.now();
    const late = lanes.all().flatMap((lane) => lane.takeLate(lanes.shareOf(lane), now));
    await Promise.all(late.map((handOver) => this.#giveBack(handOver)));
    const destinations = new Set(late.map(({ lane }) => lane.options.destination));
    bulletin.tellStirred([...destinations]);
  }

  /** Ends a claim before its first attempt: the delivery is due as before, and any worker may claim it. */
  #giveBack(handOver: HandOver): Promise<void> {
    const release = this.#options.clock.hold();
    return new Promise((resolve) =>
      this.#finish(handOver, unchanged(handOver.due), () => {
        release();
        resolve();
      }),
    );
  }

  #startWaiting(lane: Lane): void {
    if (lane.waiting === 0 || !this.#options.membership.mayDeliver()) return;
    const share = this.#options.lanes.shareOf(lane);
    while (lane.waiting > 0 && lane.places(share) > 0) {
      const next = lane.nextWaiting();
      if (next === undefined) return;
      // The claim was lost: another worker has the delivery.
      if (next.signal.aborted) lane.forget(next);
      else void this.#deliver(next);
    }
  }

  async #deliver(handOver: HandOver): Promise<void> {
    const { lane, due, signal } = handOver;
    const release = this.#options.clock.hold();
    lane.delivering += 1;
    const startedAt = performance.now();
    const settlement = await lane.options.handler.deliver(due, signal);
    lane.took(performance.now() - startedAt);
    this.#freeSoon(lane);
    this.#finish(handOver, settlement, release);
  }

  /** Frees a place at the end of this turn, when the connections of all deliveries that ended in it are free, too. */
  #freeSoon(lane: Lane): void {
    this.#freeing.push(lane);
    clearImmediate(this.#turn);
    this.#turn = setImmediate(this.#free);
  }

  readonly #free = (): void => {
    const lanes = this.#freeing.splice(0);
    for (const lane of lanes) lane.delivering -= 1;
    for (const lane of new Set(lanes)) this.#startWaiting(lane);
  };

  #finish(handOver: HandOver, result: Settlement, release: () => void): void {
    const settlement = inTime(handOver.due, result, this.#options.membership.clockSetByMs);
    this.#options.settler.settle(handOver, settlement, (isStored) => {
      this.#finished(handOver, settlement, isStored);
      release();
    });
  }

  #finished(handOver: HandOver, settlement: Settlement, isStored: boolean): void {
    const { lane, due } = handOver;
    const { handler, source } = lane.options;
    lane.forget(handOver);
    if (isStored) {
      if (settlement.state !== "pending") this.#options.ended(due.delivery.id);
      this.#options.bulletin.tellSettled(due.delivery, settlement);
      handler.settled(due, settlement);
      if (settlement.state === "pending") this.#postponed(lane, settlement.dueAt);
    } else {
      handler.lost(due, settlement);
      lane.stir();
    }
    // Only this lane has more room than before: the others need not be looked at if it claims nothing.
    if (!lane.isDrained && lane.room(this.#options.lanes.shareOf(lane)) > 0) this.pump(source);
  }

  #postponed(lane: Lane, dueAt: number): void {
    const { clock, bulletin } = this.#options;
    // This process will not claim it.
    if (lane.isStopped || this.#options.lanes.shareOf(lane) === 0)
      bulletin.tellStirred([lane.options.destination]);
    else if (dueAt <= clock.now()) lane.stir();
    else lane.wakeBy(dueAt);
  }
}

/** The settlement of a delivery that was not attempted: it is due as before. */
function unchanged({ dueAt, rounds, progress }: DueDelivery): Settlement {
  return { state: "pending", dueAt, rounds, progress, attempts: [] };
}

/** A settlement in the time by which its delivery was claimed, if the clock was set since, forward or back. */
function inTime(due: DueDelivery, settlement: Settlement, setByMs: number): Settlement {
  if (setByMs === 0) return settlement;
  const { state, attempts } = settlement;
  if (state === "pending") {
    const { dueAt } = settlement;
    return dueAt === due.dueAt ? settlement : { ...settlement, dueAt: Math.round(dueAt - setByMs) };
  }
  // There may be time left. If there is not, the next claim finds so.
  if (state === "expired" && setByMs > 0) return { ...unchanged(due), attempts };
  return { ...settlement, endedAt: Math.round(settlement.endedAt - setByMs) };
}
