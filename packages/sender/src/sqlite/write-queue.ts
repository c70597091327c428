import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { StoreError } from "../store/store-error.ts";

/** How long settlements wait for something else to be committed with them. */
const SETTLEMENTS_WAIT_MS = 5;

/**
 * With so many settlements waiting, they are committed in this turn: a kill would have as many repeated, and their messages are in
 * memory.
 */
const MANY_SETTLEMENTS = 256;

/** Somebody who waits for the disk, and is told one of both. */
export interface Waiting {
  /** The disk has everything that is committed: also a power cut leaves it. Absent: nobody waits for that. */
  readonly flushed?: (() => void) | undefined;
  /** It could not be committed, and nothing of it is; or it was, and whether the disk has it is not known. */
  readonly failed: (error: StoreError) => void;
}

/** Something to be written in a transaction. */
export interface Write extends Waiting {
  /** It is refused when the file is full. */
  readonly needsRoom?: true;
  /** Runs inside of a transaction; may run again in another one. */
  readonly run: () => void;
  /** The transaction was committed: whoever reads the file finds it, also after a kill. */
  readonly committed?: (() => void) | undefined;
}

/**
 * Commits a group of writes.
 *
 * @param isAwaited Whether somebody waits until the disk has it.
 * @param flushed Is called once the disk has it, or failed; if nobody waits for that, in the same turn.
 */
export type CommitGroup = (group: readonly Write[], isAwaited: boolean, flushed: () => void) => void;

/**
 * Decides what is committed together, and when: everything written in one turn of the event loop, or while the disk is busy with what was
 * committed before. Settlements wait a little longer, for something else; many of them do not wait for the disk, which they do not
 * need.
 */
export class WriteQueue {
  readonly #commit: CommitGroup;
  #awaited: Write[] = [];
  #settlements: Write[] = [];
  #turn: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the disk is waited for, and whether to commit when it is done. */
  #isFlushing = false;
  #isNext = false;
  #whenIdle: (() => void)[] = [];

  constructor(commit: CommitGroup) {
    this.#commit = commit;
  }

  /** Has a write committed with the others of this turn, and the disk waited for. */
  add(write: Write): void {
    this.#awaited.push(write);
    this.#commitSoon();
  }

  /** Has a settlement committed with what is written next, or after a moment. */
  addSettlement(write: Write): void {
    this.#settlements.push(write);
    if (this.#hasMany) this.#commitSoon();
    else if (this.#turn === undefined) this.#timer ??= setTimeout(this.flush, SETTLEMENTS_WAIT_MS);
  }

  /** Resolves when everything that waits is committed, and the disk has it. */
  async empty(): Promise<void> {
    this.flush();
    if (this.#isFlushing) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Has what is waiting committed now, or when the disk is done. */
  readonly flush = (): void => {
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#turn = undefined;
    this.#timer = undefined;
    this.#isNext = this.#isFlushing;
    const settlements = this.#settlements;
    if (this.#isFlushing) {
      if (!this.#hasMany) return;
      this.#settlements = [];
      this.#commit(settlements, false, () => {});
      return;
    }
    const group = [...settlements, ...this.#awaited];
    if (group.length === 0) return;
    const isAwaited = this.#awaited.length > 0;
    this.#settlements = [];
    this.#awaited = [];
    this.#isFlushing = true;
    this.#commit(group, isAwaited, this.#flushed);
  };

  get #hasMany(): boolean {
    return this.#settlements.length >= MANY_SETTLEMENTS;
  }

  #commitSoon(): void {
    if (this.#isFlushing && !this.#hasMany) this.#isNext = true;
    else this.#turn ??= setImmediate(this.flush);
  }

  readonly #flushed = (): void => {
    this.#isFlushing = false;
    if (this.#isNext && this.#settlements.length + this.#awaited.length > 0) this.#commitSoon();
    this.#isNext = false;
    if (this.#turn !== undefined) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  };
}
