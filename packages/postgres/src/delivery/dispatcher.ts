import type { Clock } from "@countersign/protocol";
import type { Consumer, DeliveryHandler, DueDelivery, Settlement } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { isUnknown, storeErrorOf } from "../database/postgres-error.ts";
import { decodeText, encodeText } from "../database/text.ts";
import type { Names } from "../schema/names.ts";
import { claimSql, type ClaimRow, peekSql } from "../tables/claim-statement.ts";
import { type ClaimedRow, dueDeliveryOf } from "../tables/delivery-rows.ts";
import type { Membership } from "../workers/membership.ts";
import type { Claims } from "./claims.ts";
import { type HandOver, Lane } from "./lane.ts";
import type { Settler } from "./settler.ts";

/** Deliveries claimed with one command: their bodies are in memory. */
const MOST_AT_ONCE = 500;

/** What a dispatcher needs of the store. */
export interface DispatcherOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly clock: Clock;
  readonly claims: Claims;
  readonly settler: Settler;
  readonly membership: () => Membership;
  /** A settlement was stored. */
  readonly settled: (handOver: HandOver, settlement: Settlement) => void;
  readonly failed: (error: Error) => void;
}

/** A lane, and how many it wants. */
interface Wanted {
  readonly lane: Lane;
  readonly room: number;
  readonly stirs: number;
}

/** Claims what is due for the lanes of each source, one command of a source at a time, and hands it over. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #claimSql: string;
  readonly #lanes = new Map<string, Lane>();
  readonly #claiming = new Set<string>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#claimSql = claimSql(options.names);
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const { clock } = this.#options;
    const source = destination.slice(0, Math.max(destination.lastIndexOf("/"), 0));
    const wake = ({ options }: Lane): void => this.pump(options.source);
    const lane = new Lane({ source, destination, concurrency, handler, clock, wake });
    this.#lanes.set(destination, lane);
    lane.stir();
    this.pump(source);
    return {
      stop: async () => {
        if (this.#lanes.get(destination) === lane) this.#lanes.delete(destination);
        await this.#stop(lane);
      },
    };
  }

  /** Stops every lane; resolves when nothing is under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => this.#stop(lane)));
  }

  async #stop(lane: Lane): Promise<void> {
    lane.isStopped = true;
    for (const waiting of lane.waiting.splice(0)) void this.#giveBack(waiting);
    await lane.stop();
  }

  lane(destination: string): Lane | undefined {
    return this.#lanes.get(destination);
  }

  /** This worker's part of a lane's concurrency. */
  shareOf({ options }: Lane): number {
    return this.#options.membership().share(options.concurrency, options.destination);
  }

  /** Whether no lane has more under way than its share. */
  isWithinShares(): boolean {
    return [...this.#lanes.values()].every((lane) => lane.delivering <= this.shareOf(lane));
  }

  claimed(): readonly string[] {
    return [...this.#lanes.values()].flatMap(({ inFlight }) => [...inFlight.keys()].map(encodeText));
  }

  /** Something was stored for these destinations by another process. */
  stir(destinations: Iterable<string>): void {
    const sources = new Set<string>();
    for (const destination of destinations) {
      const lane = this.#lanes.get(destination);
      lane?.stir();
      if (lane !== undefined) sources.add(lane.options.source);
    }
    for (const source of sources) this.pump(source);
  }

  /** Something may have been stored anywhere. */
  stirAll(): void {
    for (const lane of this.#lanes.values()) this.#startWaiting(lane);
    this.stir(this.#lanes.keys());
  }

  /** Claims what is due, where there is room for it. */
  pump(source: string): void {
    if (this.#claiming.has(source) || !this.#options.membership().mayClaim) return;
    const wanted = this.#wanted(source);
    if (wanted.length > 0) void this.#claim(source, wanted);
  }

  /** Asks once for all destinations when they are due next: what no notice has told. */
  async peek(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    if (lanes.length === 0) return;
    const { connections, names, clock } = this.#options;
    const statement = { name: "", text: peekSql(names) };
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
      else this.#lanes.get(name)?.wakeBy(dueAt);
    }
    this.stir(due);
  }

  /** Hands a claimed delivery over as soon as it has a place. */
  run(lane: Lane, due: DueDelivery, worker: string, claim: number): void {
    const handOver: HandOver = { lane, due, worker, claim, signal: this.#options.claims.signal };
    lane.inFlight.set(due.delivery.id, handOver);
    if (lane.isStopped) {
      void this.#giveBack(handOver);
      return;
    }
    lane.waiting.push(handOver);
    this.#startWaiting(lane);
  }

  /** What was claimed and not begun is due as before, for whoever serves the destination next. */
  #giveBack(handOver: HandOver): Promise<void> {
    return this.#finish(handOver, unchanged(handOver.due), this.#options.clock.hold());
  }

  #startWaiting(lane: Lane): void {
    const share = this.shareOf(lane);
    while (lane.waiting.length > 0 && lane.places(share) > 0) {
      const next = lane.waiting.shift();
      if (next === undefined) return;
      // Another worker has it.
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
    lane.delivering -= 1;
    this.#startWaiting(lane);
    await this.#finish(handOver, settlement, release);
  }

  async #finish(handOver: HandOver, settlement: Settlement, release: () => void): Promise<void> {
    const { settler, settled } = this.#options;
    const { lane, due } = handOver;
    const { handler, source } = lane.options;
    const isStored = await settler.settle(handOver, settlement);
    lane.forget(handOver);
    if (isStored) {
      settled(handOver, settlement);
      handler.settled(due, settlement);
      if (settlement.state === "pending") this.#postponed(lane, settlement.dueAt);
    } else {
      handler.lost(due, settlement);
      lane.stir();
    }
    this.pump(source);
    release();
  }

  #postponed(lane: Lane, dueAt: number): void {
    const { clock } = this.#options;
    if (dueAt <= clock.now()) lane.stir();
    else lane.wakeBy(dueAt);
  }

  #wanted(source: string): readonly Wanted[] {
    const wanted: Wanted[] = [];
    let left = MOST_AT_ONCE;
    for (const lane of this.#lanes.values()) {
      if (lane.options.source !== source || lane.isDrained || lane.isStopped || left === 0) continue;
      const room = Math.min(lane.room(this.shareOf(lane)), left);
      if (room === 0) continue;
      left -= room;
      wanted.push({ lane, room, stirs: lane.stirs });
    }
    return wanted;
  }

  async #claim(source: string, wanted: readonly Wanted[]): Promise<void> {
    const { clock, claims, failed } = this.#options;
    const membership = this.#options.membership();
    const release = clock.hold();
    this.#claiming.add(source);
    for (const { lane, room } of wanted) lane.reserved += room;
    try {
      await claims.during(() => this.#ask(source, wanted, membership));
    } catch (error) {
      failed(storeErrorOf(error));
      this.#retry(source, wanted);
      if (isUnknown(error)) void membership.renew();
    } finally {
      this.#claiming.delete(source);
    }
    this.pump(source);
    release();
  }

  async #ask(source: string, wanted: readonly Wanted[], membership: Membership): Promise<void> {
    const { connections, clock, claims } = this.#options;
    const [worker, claim, signal] = [membership.id, claims.next(), claims.signal];
    const statement = { name: "", text: this.#claimSql };
    const destinations = wanted.map(({ lane }) => encodeText(lane.options.destination));
    const rooms = wanted.map(({ room }) => room);
    const now = Math.floor(clock.now());
    const values = [encodeText(source), worker, membership.epoch, claim, destinations, rooms, now];
    try {
      const rows = await connections.query<ClaimRow>("work", statement, values);
      // Taken over while it was asked: what was claimed is another worker's.
      if (!signal.aborted) for (const one of wanted) this.#handOver(one, rows, worker, claim);
    } finally {
      // After the hand-over: a lane that stops has not left while what was claimed for it is not given back.
      for (const { lane, room } of wanted) lane.reserved -= room;
      for (const { lane } of wanted) lane.checkEmpty();
    }
  }

  #handOver({ lane, room, stirs }: Wanted, rows: readonly ClaimRow[], worker: string, claim: number): void {
    const own = rows.filter((row) => row.lane === encodeText(lane.options.destination));
    const claimed = own.filter((row): row is ClaimRow & ClaimedRow => row.id != null);
    for (const row of claimed) this.run(lane, dueDeliveryOf(row), worker, claim);
    const isWhole = rows.filter(({ id }) => id != null).length === own[0]?.picked;
    if (claimed.length < room && own[0]?.alive === true && isWhole)
      lane.drained(stirs, own[0].next_due_at ?? undefined);
  }

  /** The database is away: the lanes ask again when a heartbeat has succeeded, or soon. */
  #retry(source: string, wanted: readonly Wanted[]): void {
    for (const { lane } of wanted) lane.stir();
    const timer = setTimeout(() => this.pump(source), 250);
    timer.unref();
  }
}

/** It is due as before. */
function unchanged({ dueAt, rounds, progress }: DueDelivery): Settlement {
  return { state: "pending", dueAt, rounds, progress, attempts: [] };
}
