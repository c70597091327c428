import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { StoreError } from "../store/store-error.ts";

/** How long settlements wait for something else to be committed with them. */
const SETTLEMENTS_WAIT_MS = 5;

/** With so many settlements waiting, they are committed in this turn. */
const MANY_SETTLEMENTS = 256;

/** Something to be written in a transaction. */
export interface Write {
  /** It is refused when the file is full. */
  readonly needsRoom?: true;
  /** Runs inside of a transaction; may run again in another one. */
  readonly run: () => void;
  /** Runs once, after the transaction was committed. */
  readonly committed: () => void;
  /** Runs instead when it could not be written; nothing of it is. */
  readonly failed: (error: StoreError) => void;
}

/**
 * Decides what is committed together, and when: everything written in one turn of the event loop. Settlements wait a little
 * longer, for something else.
 */
export class WriteQueue {
  readonly #commit: (group: readonly Write[], isFlushed: boolean) => void;
  #waiting: Write[] = [];
  #turn: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether everything that waits is a settlement. */
  #isLazy = true;

  /** @param commit Is given what to commit, and whether to flush it to disk: a group of settlements need not be. */
  constructor(commit: (group: readonly Write[], isFlushed: boolean) => void) {
    this.#commit = commit;
  }

  /** Has a write committed with the others of this turn. */
  add(write: Write): void {
    this.#isLazy = false;
    this.#waiting.push(write);
    this.#turn ??= setImmediate(this.flush);
  }

  /** Has a settlement committed with what is written next, or after a moment. */
  addSettlement(write: Write): void {
    this.#waiting.push(write);
    if (this.#turn !== undefined) return;
    if (this.#waiting.length >= MANY_SETTLEMENTS) this.#turn = setImmediate(this.flush);
    else this.#timer ??= setTimeout(this.flush, SETTLEMENTS_WAIT_MS);
  }

  /** Has what is waiting committed now. */
  readonly flush = (): void => {
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#turn = undefined;
    this.#timer = undefined;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    const isFlushed = !this.#isLazy;
    this.#isLazy = true;
    this.#commit(group, isFlushed);
  };
}
