import { randomUUID } from "node:crypto";
import type { Clock } from "@countersign/protocol";
import type { StoreState } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { isUnknown } from "../database/postgres-error.ts";
import { failureOf } from "../database/store-errors.ts";
import type { Claims } from "./claims.ts";
import { Heart } from "./heart.ts";
import { Suspects } from "./suspects.ts";
import { ToldState } from "./told-state.ts";
import { TrustedClock } from "./trusted-clock.ts";
import { WorkerList } from "./worker-list.ts";
import type { HeartbeatRow } from "./worker-statements.ts";
import type { KnownClaim, WorkerTable } from "./worker-table.ts";
import { untilDone } from "./until-done.ts";

/** How often a worker extends its lease, at most. */
const LONGEST_BEAT_MS = 700;

/** A worker that has not heard from the database for so long claims nothing: others may have taken its part. */
const FRESH_MS = 1_500;

/** The parts of the store that membership uses. */
export interface MembershipOptions {
  readonly connections: Connections;
  readonly table: WorkerTable;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly stateChanged: (state: StoreState) => void;
}

/** Who works with what a membership allows, and hears of it from the moment it joins. */
export interface MembershipListener {
  /** Whether no lane has more under way than it will be allowed, by what `share` says of it. */
  isWithinShares(): boolean;
  /** What this process knows it has claimed. */
  claimed(): readonly KnownClaim[];
  /** It may claim more than before, or something was released. */
  mayClaimMore(): void;
  /** After each heartbeat. */
  beaten(row: HeartbeatRow): void;
  /** The list of workers has changed, which other processes are to know. */
  listChanged(): void;
  /** What an operator is to know although the store can be used. */
  remark(): string | undefined;
}

/**
 * This process in the list of workers: its lease, by the database's time, and its part of each destination's concurrency.
 *
 * A worker that came last waits until the others keep to a list with it, so that the parts never add up to more than the
 * concurrency. A silent worker claims nothing, and the others do not wait for it.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #heart: Heart;
  readonly #suspects: Suspects;
  readonly #clock: TrustedClock;
  readonly #told: ToldState;
  #listener: MembershipListener | undefined;
  #id: string = randomUUID();
  #epoch = 1;
  #joined = 0;
  #seen = 0;
  #list: WorkerList;
  /** Whether it is to deliver, and not only to accept. */
  #delivers = false;
  #isActive = false;
  /** Whether the others are still to leave a part of each concurrency to it. */
  #isToAnnounce = false;
  /** Whether it may have removed a worker, and has not looked yet for claims that were under way meanwhile. */
  #isTakingOver = false;
  #lastBeat = Number.NEGATIVE_INFINITY;
  /** Whether something was held back because of the clock, which is to begin when it is right. */
  #isHeldBack = false;
  #renewing = false;
  #isStopped = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    const beatMs = Math.min(LONGEST_BEAT_MS, options.leaseMs / 5);
    this.#suspects = new Suspects(beatMs * 0.9);
    this.#clock = new TrustedClock(options.clock);
    this.#told = new ToldState(options.stateChanged);
    this.#heart = new Heart({
      beatMs,
      beat: () => this.#beat(),
      failed: (error) => this.#told.tell({ state: "down", reason: failureOf(error).message }),
      isWaiting: () => this.#delivers && !this.#isActive,
    });
    this.#list = new WorkerList(this.#id);
  }

  /** The worker's id; another one after its claims were lost. */
  get id(): string {
    return this.#id;
  }

  /** Counts the answers to claims that were lost. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether other processes have the store open. */
  get hasOthers(): boolean {
    return this.#list.hasOthers;
  }

  /** Whether any process that has the store open delivers. */
  get isDelivering(): boolean {
    return this.#list.isDelivering;
  }

  /** Why nothing may be accepted; undefined when it may. */
  get unsafe(): string | undefined {
    return this.#clock.unsafe;
  }

  /** By how many milliseconds the clock was set since it agreed with the database's. */
  get clockSetByMs(): number {
    return this.#clock.setByMs;
  }

  /** Whether what was claimed may be delivered. If not, the listener hears when it may. */
  mayDeliver(): boolean {
    const may = this.unsafe === undefined;
    this.#isHeldBack ||= !may;
    return may;
  }

  /** Whether something may be claimed now. */
  get mayClaim(): boolean {
    return this.#isActive && this.#isFresh && !this.#renewing && !this.#isStopped && this.mayDeliver();
  }

  get #isFresh(): boolean {
    return performance.now() - this.#lastBeat < FRESH_MS;
  }

  /** This worker's part of a destination's concurrency. */
  share(concurrency: number, key: string): number {
    return this.#list.share(concurrency, key);
  }

  /** Joins the list. Throws ERR_STORE_LOCKED when a virtual clock is not the only process. */
  async join(listener: MembershipListener): Promise<void> {
    this.#listener = listener;
    await this.#join();
  }

  /** Begins to deliver: from now on it has a part of each concurrency. Resolves when it may claim, or cannot yet. */
  async deliver(): Promise<void> {
    if (this.#delivers || this.#isStopped) return;
    this.#delivers = true;
    this.#isToAnnounce = true;
    try {
      await this.#announce();
      await this.#beat();
    } catch {
      // The database is away: heartbeats keep trying.
    }
    this.look();
  }

  /** Extends the lease from now on. */
  start(): void {
    this.#heart.start();
  }

  /** Looks at the list now. */
  look(): void {
    this.#heart.beatNow();
  }

  /** Runs a command that claims. If its answer is lost, what it has claimed is released. */
  async whileClaiming<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await this.#options.claims.during(command);
    } catch (error) {
      if (isUnknown(error)) void this.#renew();
      throw error;
    }
  }

  /** Leaves the list; what is still claimed is released for the others. */
  async leave(): Promise<void> {
    this.#isStopped = true;
    await this.#heart.stop();
    await this.#options.table.remove(this.#id, null);
    this.#listener?.listChanged();
  }

  async #join(): Promise<void> {
    const { table, leaseMs } = this.#options;
    const [id, delivers, { isVirtual }] = [this.#id, this.#delivers, this.#clock];
    this.#joined = await table.join({ id, leaseMs, delivers, isVirtual });
    this.#seen = this.#joined;
    this.#listener?.listChanged();
    await this.#beat();
  }

  /** After the answer to a claim was lost: what was claimed without knowing is released, and late commands claim nothing. */
  async #renew(): Promise<void> {
    if (this.#renewing || this.#isStopped) return;
    this.#renewing = true;
    const { table, claims } = this.#options;
    const [id, epoch] = [this.#id, this.#epoch + 1];
    try {
      await claims.quiet();
      const isWanted = (): boolean => !this.#isStopped && id === this.#id;
      const claimed = (): readonly KnownClaim[] => this.#listener?.claimed() ?? [];
      if (await untilDone(() => table.renew(id, epoch, claimed), isWanted)) this.#epoch = epoch;
    } finally {
      this.#renewing = false;
      this.#listener?.mayClaimMore();
    }
  }

  /** The others are to leave a part of each concurrency to this worker. */
  async #announce(): Promise<void> {
    this.#isActive = false;
    this.#joined = await this.#options.table.deliver(this.#id);
    this.#seen = this.#joined;
    this.#isToAnnounce = false;
    this.#heart.beatAgain();
    this.#listener?.listChanged();
  }

  async #beat(): Promise<void> {
    const { table, leaseMs, clock } = this.#options;
    const [sentAt, before, id, epoch] = [performance.now(), clock.now(), this.#id, this.#epoch];
    const rows = await table.beat(id, epoch, leaseMs, this.#seen);
    if (this.#isStopped || id !== this.#id) return;
    const mine = rows.find((row) => row.id === id);
    if (mine === undefined) {
      await this.#rejoin();
      return;
    }
    this.#answeredBy(mine);
    if (mine.epoch !== epoch) return;
    // Others may have taken its part meanwhile, and are to give it back first.
    if (this.#delivers && (!mine.delivers || (this.#isActive && !this.#isFresh))) this.#isToAnnounce = true;
    this.#lastBeat = sentAt;
    this.#clock.compare({ before, after: clock.now(), database: mine.now });
    const { unsafe } = this;
    if (unsafe === undefined) this.#told.tell({ state: "up", reason: this.#listener?.remark() });
    else this.#told.tellUnsafe(unsafe, this.#clock.skewMs);
    this.#keepTo(rows, mine);
    this.#beginHeldBack();
    if (this.#isToAnnounce) await this.#announce();
    this.#listener?.beaten(mine);
    await this.#takeOver(rows);
  }

  /**
   * A standby that has become the primary may lack the last changes. What was settled is claimed there as before, and the epoch may be
   * an older one: a new one begins, and what is not under way here is released.
   */
  #answeredBy({ server }: HeartbeatRow): void {
    if (this.#options.connections.server.keepTo(server)) void this.#renew();
  }

  /** Keeps to the newest list; says so once nothing goes beyond what it allows. */
  #keepTo(rows: readonly HeartbeatRow[], mine: HeartbeatRow): void {
    const had = `${this.#isActive} ${this.#list.parts}`;
    this.#list = new WorkerList(this.#id, rows);
    if (this.#listener?.isWithinShares() === true && this.#seen < mine.members) {
      this.#seen = mine.members;
      if (this.hasOthers) this.#heart.beatAgain();
    }
    this.#isActive = !this.#isToAnnounce && mine.delivers && this.#list.leavesRoom(this.#joined);
    if (had !== `${this.#isActive} ${this.#list.parts}`) this.#listener?.mayClaimMore();
  }

  #beginHeldBack(): void {
    if (!this.#isHeldBack || this.unsafe !== undefined) return;
    this.#isHeldBack = false;
    this.#listener?.mayClaimMore();
  }

  async #takeOver(rows: readonly HeartbeatRow[]): Promise<void> {
    const { table } = this.#options;
    const others = rows.filter(({ id }) => id !== this.#id);
    for (const { id, lease_until: leaseUntil } of this.#suspects.confirm(others, performance.now())) {
      const removing = table.remove(id, leaseUntil);
      const isRemoved = await removing.catch((error: unknown) => {
        // It may have been removed.
        this.#isTakingOver = true;
        throw error;
      });
      this.#isTakingOver ||= isRemoved;
    }
    if (!this.#isTakingOver) return;
    // A claim of it may have been under way while it was removed.
    await table.releaseOrphans();
    this.#isTakingOver = false;
    this.#heart.beatAgain();
    this.#listener?.listChanged();
    this.#listener?.mayClaimMore();
  }

  /** Another worker has taken its claims over: it continues as a new one. */
  async #rejoin(): Promise<void> {
    this.#isActive = false;
    this.#id = randomUUID();
    this.#epoch = 1;
    this.#list = new WorkerList(this.#id);
    this.#options.claims.lose();
    await this.#join();
  }
}
