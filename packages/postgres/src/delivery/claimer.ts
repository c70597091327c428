import type { Clock } from "@countersign/protocol";
import type { DueDelivery } from "@countersign/sender/store";
import type { Connections, Statement } from "../database/connections.ts";
import { keptForMany } from "../database/kept-statement.ts";
import { failureOf } from "../database/store-errors.ts";
import { encodeText } from "../database/text.ts";
import type { Names } from "../schema/names.ts";
import { claimSql, type ClaimRow } from "../tables/claim-statement.ts";
import { type ClaimedRow, dueDeliveryOf } from "../tables/delivery-rows.ts";
import type { Claims } from "../workers/claims.ts";
import type { Membership } from "../workers/membership.ts";
import type { Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";

/** The most deliveries that one command claims: their bodies are in memory. */
const MOST_AT_ONCE = 500;

/** The most lanes that one command claims for. */
const LANES_AT_ONCE = 250;

/** The parts of the store that a claimer uses. */
export interface ClaimerOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly clock: Clock;
  readonly claims: Claims;
  readonly membership: Membership;
  readonly lanes: Lanes;
  readonly handOver: (lane: Lane, due: DueDelivery, worker: string, claim: number) => void;
  /** A claimed delivery has no body. */
  readonly bodyless: (lane: Lane, due: DueDelivery, worker: string, claim: number) => void;
  readonly failed: (error: Error) => void;
}

/** What to claim for a lane. */
interface Wanted {
  readonly lane: Lane;
  /** How many deliveries at most. */
  readonly room: number;
  /** How often the lane had been stirred before. */
  readonly stirs: number;
}

/** Claims due deliveries for the lanes. One command claims for the lanes of one source; a source has one command at a time. */
export class Claimer {
  readonly #options: ClaimerOptions;
  readonly #statement: Statement;
  readonly #claiming = new Set<string>();
  /** Sources whose lanes have room while nothing may be claimed, with the function that releases the held clock. */
  readonly #held = new Map<string, () => void>();
  /** The lane at which the next command begins, if there are more lanes than it claims for. */
  #turn = 0;

  constructor(options: ClaimerOptions) {
    this.#options = options;
    this.#statement = keptForMany("claim", claimSql(options.names));
  }

  /** Claims what is due for lanes of this source, where there is room for it. */
  pump(source: string): void {
    if (this.#claiming.has(source)) return;
    const wanted = this.#wanted(source);
    const mayClaim = this.#options.membership.mayClaim;
    if (wanted.length > 0 && mayClaim) void this.#claim(source, wanted);
    // Something may be due: until it is claimed, a virtual clock must not go on.
    this.#hold(source, wanted.length > 0 && !mayClaim);
  }

  /** Holds the clock until this source is pumped again, or releases it. */
  #hold(source: string, isHeld: boolean): void {
    const release = this.#held.get(source);
    if (isHeld === (release !== undefined)) return;
    if (isHeld) this.#held.set(source, this.#options.clock.hold());
    else this.#held.delete(source);
    release?.();
  }

  /** The lanes of this source with room. Each gets an equal part of what one command claims, and they take turns. */
  #wanted(source: string): readonly Wanted[] {
    const open: Wanted[] = [];
    const { lanes } = this.#options;
    for (const lane of lanes.all()) {
      if (lane.options.source !== source || lane.isDrained || lane.isStopped) continue;
      const room = lane.room(lanes.shareOf(lane));
      if (room > 0) open.push({ lane, room, stirs: lane.stirs });
    }
    if (open.length === 0) return open;
    const first = open.length > LANES_AT_ONCE ? this.#turn % open.length : 0;
    const wanted = [...open.slice(first), ...open.slice(0, first)].slice(0, LANES_AT_ONCE);
    this.#turn = first + wanted.length;
    const most = Math.ceil(MOST_AT_ONCE / wanted.length);
    return wanted.map(({ lane, room, stirs }) => ({ lane, room: Math.min(room, most), stirs }));
  }

  async #claim(source: string, wanted: readonly Wanted[]): Promise<void> {
    const { clock, membership, failed } = this.#options;
    const release = clock.hold();
    this.#claiming.add(source);
    for (const { lane, room } of wanted) lane.reserved += room;
    try {
      await membership.whileClaiming(() => this.#ask(source, wanted));
    } catch (error) {
      failed(failureOf(error));
      this.#retry(source, wanted);
    } finally {
      this.#claiming.delete(source);
    }
    this.pump(source);
    release();
  }

  async #ask(source: string, wanted: readonly Wanted[]): Promise<void> {
    const { connections, clock, claims, membership } = this.#options;
    const [worker, claim, signal] = [membership.id, claims.next(), claims.signal];
    const destinations = wanted.map(({ lane }) => encodeText(lane.options.destination));
    const rooms = wanted.map(({ room }) => room);
    const now = Math.floor(clock.now());
    const values = [encodeText(source), worker, membership.epoch, claim, destinations, rooms, now];
    try {
      const rows = await connections.query<ClaimRow>("work", this.#statement, values);
      // If the claims were lost meanwhile, what was claimed belongs to another worker.
      if (!signal.aborted) for (const one of wanted) this.#take(one, rows, worker, claim);
    } finally {
      // Only after the hand-over: a lane that stops has to wait until what was claimed for it is given back.
      for (const { lane, room } of wanted) lane.reserved -= room;
      for (const { lane } of wanted) lane.checkEmpty();
    }
  }

  #take({ lane, room, stirs }: Wanted, rows: readonly ClaimRow[], worker: string, claim: number): void {
    const own = rows.filter((row) => row.lane === encodeText(lane.options.destination));
    const claimed = own.filter((row): row is ClaimRow & ClaimedRow => row.id != null);
    for (const row of claimed) {
      if (row.body !== null) this.#options.handOver(lane, dueDeliveryOf(row), worker, claim);
      else this.#options.bodyless(lane, dueDeliveryOf(row), worker, claim);
    }
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
