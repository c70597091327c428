import { randomUUID } from "node:crypto";
import { StoreError, type StoreState } from "@countersign/sender/store";
import type { Clock } from "@countersign/protocol";
import type { Connections, Statement } from "../database/connections.ts";
import { storeErrorOf } from "../database/postgres-error.ts";
import type { Names } from "../schema/names.ts";
import { unsafeClock } from "./clock-skew.ts";
import { shareOf } from "./shares.ts";
import {
  foldSql,
  heartbeatSql,
  type HeartbeatRow,
  joinSql,
  lockSql,
  newListSql,
  releaseOthersSql,
  releaseSql,
  type WorkerRow,
  workersSql,
} from "./worker-statements.ts";

/** How often a worker extends its lease, at most. */
const LONGEST_BEAT_MS = 700;

/** A worker that has not heard from the database for so long claims nothing: others may have taken its part. */
const FRESH_MS = 1_500;

/** A worker that has not been heard of for so long claims nothing, so that the others share its part. Longer than FRESH_MS. */
const SILENT_MS = 2_500;

/** How soon it looks again while something is under way: it is joining, or the database is away. */
const SHORT_BEAT_MS = 100;

/** What membership needs of the store. */
export interface MembershipOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly isVirtual: boolean;
  /** Whether no lane has more under way than it will be allowed, by what `share` says of it. */
  readonly isWithinShares: () => boolean;
  /** Ids of the deliveries that this process knows it has claimed. */
  readonly claimed: () => readonly string[];
  /** Resolves when no command that claims is under way. */
  readonly quiet: () => Promise<void>;
  /** Its claims are lost: another worker has taken them over. */
  readonly lost: () => void;
  /** It may claim more than before, or something was released. */
  readonly changed: () => void;
  /** After each heartbeat. */
  readonly beaten: (row: HeartbeatRow) => void;
  readonly stateChanged: (state: StoreState) => void;
  readonly failed: (error: Error) => void;
  /** Tells other processes that the list has changed. */
  readonly tellList: () => void;
}

interface Suspect {
  readonly leaseUntil: string;
  readonly seenAt: number;
}

/**
 * This process in the list of workers: its lease, by the database's time, and its part of each destination's concurrency.
 *
 * A worker that came last waits until the others keep to a list with it, so that the parts never add up to more than the
 * concurrency. Who is silent claims nothing, and is not waited for. A lease that is over is taken over when it is seen so twice: after the database itself stood still, every
 * lease is over, and every worker deserves the time to say that it lives.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #beatMs: number;
  readonly #suspects = new Map<string, Suspect>();
  #id: string = randomUUID();
  #epoch = 1;
  #joined = 0;
  #seen = 0;
  #workers: readonly HeartbeatRow[] = [];
  /** Whether it is to deliver, and not only to accept. */
  #delivers = false;
  #isActive = false;
  #lastBeat = Number.NEGATIVE_INFINITY;
  #unsafe: string | undefined;
  #state = "";
  #renewing = false;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #again = false;
  #isStopped = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#beatMs = Math.min(LONGEST_BEAT_MS, options.leaseMs / 5);
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
    return this.#workers.length > 1;
  }

  /** Why nothing may be accepted; undefined when it may. */
  get unsafe(): string | undefined {
    return this.#unsafe;
  }

  /** Whether something may be claimed now. */
  get mayClaim(): boolean {
    return this.#isActive && this.#isFresh && !this.#renewing && !this.#isStopped && this.#unsafe === undefined;
  }

  get #isFresh(): boolean {
    return performance.now() - this.#lastBeat < FRESH_MS;
  }

  /** This worker's part of a destination's concurrency. */
  share(concurrency: number, key: string): number {
    const delivering = this.#workers.flatMap((row) => (row.delivers && this.#isLive(row) ? [row.id] : []));
    return shareOf(concurrency, key, this.#id, delivering);
  }

  /** Joins the list. Throws ERR_STORE_LOCKED when a virtual clock is not the only process. */
  async join(): Promise<void> {
    const { connections, names, leaseMs, isVirtual } = this.#options;
    await connections.transaction("control", async (run) => {
      // First: it locks the list.
      const [list] = await run<{ value: number }>(newListSql(names));
      const others = await run<WorkerRow>(workersSql(names));
      const conflict = others.find((other) => isVirtual || other.virtual);
      if (conflict !== undefined) throw new VirtualConflict(conflict);
      this.#joined = this.#seen = list?.value ?? 0;
      await run(joinSql(names), [this.#id, leaseMs, this.#delivers, isVirtual, this.#joined]);
    });
    this.#options.tellList();
    await this.#beat();
  }

  /** Begins to deliver: from now on it has a part of each concurrency. Resolves when it may claim, or cannot yet. */
  async deliver(): Promise<void> {
    if (this.#delivers || this.#isStopped) return;
    this.#delivers = true;
    try {
      await this.#announce();
      await this.#beat();
    } catch {
      // The database is away: heartbeats go on trying.
    }
    this.look();
  }

  /** Extends the lease from now on. */
  start(): void {
    this.#schedule(this.#beatMs);
  }

  /** Looks at the list now. */
  look(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    if (this.#beating === undefined) this.#run();
    else this.#again = true;
  }

  /** After the answer to a claim was lost: what was claimed without knowing is released, and late commands claim nothing. */
  async renew(): Promise<void> {
    if (this.#renewing || this.#isStopped) return;
    this.#renewing = true;
    const { quiet, failed } = this.#options;
    const [id, epoch] = [this.#id, this.#epoch];
    try {
      await quiet();
      while (!this.#isStopped && id === this.#id && !(await this.#renewed(epoch).catch(() => false))) {
        await after(SHORT_BEAT_MS);
      }
    } catch (error) {
      failed(storeErrorOf(error));
    } finally {
      this.#renewing = false;
      this.#options.changed();
    }
  }

  /** Leaves the list; what is still claimed is released for the others. */
  async leave(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#beating?.catch(() => {});
    await this.remove(this.#id);
    this.#options.tellList();
  }

  /** Removes a worker, if `check` agrees to what it is now, and releases what it has claimed. */
  async remove(id: string, check: (row: { readonly lease_until: string }) => boolean = () => true): Promise<boolean> {
    const { connections, names } = this.#options;
    return connections.transaction("control", async (run) => {
      const [row] = await run<{ lease_until: string }>(lockSql(names), [id]);
      if (row === undefined || !check(row)) return false;
      await run(releaseSql(names), [id]);
      for (const fold of foldSql(names)) await run(fold, [id]);
      await run(`DELETE FROM ${names.table("worker")} WHERE id = $1`, [id]);
      await run(newListSql(names));
      return true;
    });
  }

  async #renewed(epoch: number): Promise<boolean> {
    const { connections, names, claimed } = this.#options;
    await connections.transaction("control", async (run) => {
      const [row] = await run<{ epoch: number }>(lockSql(names), [this.#id]);
      // It was taken over: the next heartbeat finds out.
      if (row === undefined) return;
      await run(`UPDATE ${names.table("worker")} SET epoch = $2 WHERE id = $1`, [this.#id, epoch + 1]);
      await run(releaseOthersSql(names), [this.#id, [...claimed()]]);
    });
    this.#epoch = epoch + 1;
    return true;
  }

  /** The others are to leave a part of each concurrency to this worker. */
  async #announce(): Promise<void> {
    const { connections, names } = this.#options;
    const joined = await connections.transaction("control", async (run) => {
      const [list] = await run<{ value: number }>(newListSql(names));
      const version = list?.value ?? 0;
      await run(`UPDATE ${names.table("worker")} SET delivers = true, joined = $2, seen = $2 WHERE id = $1`, [this.#id, version]);
      return version;
    });
    this.#joined = this.#seen = joined;
    this.#isActive = false;
    this.#again = true;
    this.#options.tellList();
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    if (this.#isStopped || this.#beating !== undefined) return;
    const beating = this.#beat().then(
      () => this.#beatMs,
      (error: unknown) => {
        this.#say({ state: "down", reason: storeErrorOf(error).message });
        return SHORT_BEAT_MS * 2;
      },
    );
    this.#beating = beating.then((pause) => {
      this.#beating = undefined;
      const soon = this.#again || (!this.#isActive && this.#delivers);
      this.#again = false;
      this.#schedule(soon ? Math.min(pause, SHORT_BEAT_MS) : pause);
    });
  }

  async #beat(): Promise<void> {
    const { connections, names, leaseMs, clock, isVirtual, beaten } = this.#options;
    const [sentAt, before, id, epoch] = [performance.now(), clock.now(), this.#id, this.#epoch];
    const statement: Statement = { name: `beat_${names.schema}`.slice(0, 60), text: heartbeatSql(names) };
    const rows = await connections.query<HeartbeatRow>("control", statement, [id, epoch, leaseMs, this.#seen]);
    if (this.#isStopped || id !== this.#id) return;
    const mine = rows.find((row) => row.id === id);
    if (mine === undefined) {
      await this.#rejoin();
      return;
    }
    if (mine.epoch !== epoch) return;
    const wasSilent = this.#isActive && !this.#isFresh;
    this.#lastBeat = sentAt;
    this.#unsafe = isVirtual ? undefined : unsafeClock({ before, after: clock.now(), database: mine.now });
    this.#say(this.#unsafe === undefined ? { state: "up" } : { state: "unsafe", reason: this.#unsafe });
    this.#keepTo(rows, mine);
    // Others may have taken its part meanwhile, and are to give it back first.
    if (this.#delivers && (!mine.delivers || wasSilent)) await this.#announce();
    beaten(mine);
    await this.#takeOver(rows);
  }

  /** Keeps to the newest list; says so once nothing goes beyond what it allows. */
  #keepTo(rows: readonly HeartbeatRow[], mine: HeartbeatRow): void {
    const { isWithinShares, changed } = this.#options;
    const had = this.#description();
    this.#workers = rows;
    if (isWithinShares() && this.#seen < mine.members) {
      this.#seen = mine.members;
      if (this.hasOthers) this.#again = true;
    }
    if (this.#delivers && !mine.delivers) this.#again = true;
    this.#isActive = mine.delivers && rows.every((row) => !this.#isWaitedFor(row));
    if (had !== this.#description()) changed();
  }

  /** Whether another worker still has to leave a part of the concurrency to this one. */
  #isWaitedFor(row: HeartbeatRow): boolean {
    if (row.id === this.#id || !row.delivers || !this.#isLive(row)) return false;
    return row.joined <= this.#joined && row.seen < this.#joined;
  }

  #isLive({ id, silent_ms: silentMs }: HeartbeatRow): boolean {
    return id === this.#id || silentMs < SILENT_MS;
  }

  #description(): string {
    const live = this.#workers.filter((row) => this.#isLive(row)).map(({ id }) => id);
    return `${this.#isActive} ${live.join(" ")}`;
  }

  async #takeOver(rows: readonly HeartbeatRow[]): Promise<void> {
    const now = performance.now();
    for (const { id, is_over: isOver, lease_until: leaseUntil } of rows) {
      const suspect = this.#suspects.get(id);
      if (!isOver || id === this.#id) {
        this.#suspects.delete(id);
      } else if (suspect?.leaseUntil !== leaseUntil) {
        this.#suspects.set(id, { leaseUntil, seenAt: now });
      } else if (now - suspect.seenAt >= this.#beatMs * 0.9) {
        this.#suspects.delete(id);
        if (await this.remove(id, (row) => row.lease_until === leaseUntil)) {
          this.#again = true;
          this.#options.tellList();
          this.#options.changed();
        }
      }
    }
  }

  /** Another worker has taken its claims over: it goes on as a new one. */
  async #rejoin(): Promise<void> {
    this.#isActive = false;
    this.#id = randomUUID();
    this.#epoch = 1;
    this.#options.lost();
    await this.join();
  }

  #say(state: StoreState): void {
    const text = `${state.state} ${state.state === "unsafe" ? "" : (state.reason ?? "")}`;
    if (text === this.#state) return;
    this.#state = text;
    this.#options.stateChanged(state);
  }
}

/** A virtual clock, here or there, and another process that has the schema open. */
export class VirtualConflict extends StoreError {
  readonly other: WorkerRow;

  constructor(other: WorkerRow) {
    super(
      "ERR_STORE_LOCKED",
      "A virtual clock needs the schema for one process alone, and another process has it open. Close that one, or use another schema.",
    );
    this.other = other;
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
