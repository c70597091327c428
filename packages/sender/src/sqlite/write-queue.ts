import type Database from "libsql";
import type { StoreState } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import { isConstraint, storeErrorOf } from "./sqlite-error.ts";

/** How long settlements wait for something else to be committed with them. */
const SETTLEMENTS_WAIT_MS = 5;

/** With so many settlements waiting, they are committed in this turn. */
const MANY_SETTLEMENTS = 256;

/** Something to be written in a transaction. */
export interface Write {
  /** Runs inside of a transaction; may run again in another one. */
  readonly run: () => void;
  /** Runs once, after the transaction was committed. */
  readonly committed: () => void;
  /** Runs instead when it could not be written; nothing of it is. */
  readonly failed: (error: StoreError) => void;
}

/** What is to be done for a transaction as a whole. */
export interface TransactionHooks {
  /** Runs first; what an earlier transaction left undone because it failed is to be forgotten. */
  readonly begin: () => void;
  /** Runs last inside of the transaction. */
  readonly finish: () => void;
  /** Runs once it was committed, before what its writes have to be told. */
  readonly committed: () => void;
  /** Runs once everything of a turn was committed, or failed. */
  readonly flushed: () => void;
  /** Runs when the database can no longer be written, or can be written again. */
  readonly stateChanged: (state: StoreState) => void;
}

/**
 * Group commit: everything written in one turn of the event loop is committed, and so flushed to disk, once. Settlements
 * wait a little longer, and are not flushed to disk unless something else is: a power cut that undoes one repeats a
 * delivery, and never loses an accepted call.
 */
export class WriteQueue {
  readonly #db: Database.Database;
  readonly #path: string;
  readonly #hooks: TransactionHooks;
  readonly #begin: Database.Statement;
  readonly #commitGroup: Database.Statement;
  #waiting: Write[] = [];
  #turn: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether everything that waits is a settlement. */
  #isLazy = true;
  /** Whether commits are flushed to disk. */
  #isFlushing = true;
  #isDown = false;

  constructor(db: Database.Database, path: string, hooks: TransactionHooks) {
    this.#db = db;
    this.#path = path;
    this.#hooks = hooks;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commitGroup = db.prepare("COMMIT");
  }

  /** Has a write committed with the others of this turn. */
  add(write: Write): void {
    this.#isLazy = false;
    this.#waiting.push(write);
    this.#turn ??= setImmediate(this.flush);
  }

  /**
   * Has a settlement committed with what is written next, or after a moment.
   *
   * @param isLast whether nothing is expected to be written next: it is flushed to disk by itself
   */
  addSettlement(write: Write, isLast: boolean): void {
    this.#waiting.push(write);
    if (isLast) {
      this.#isLazy = false;
      this.#turn ??= setImmediate(this.flush);
    }
    if (this.#turn !== undefined) return;
    if (this.#waiting.length >= MANY_SETTLEMENTS) this.#turn = setImmediate(this.flush);
    else this.#timer ??= setTimeout(this.flush, SETTLEMENTS_WAIT_MS);
  }

  /** Commits what is waiting, now. */
  readonly flush = (): void => {
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#turn = undefined;
    this.#timer = undefined;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    const isLazy = this.#isLazy;
    this.#isLazy = true;
    this.#commit(group, !isLazy);
    this.#hooks.flushed();
  };

  /** Runs a transaction of its own that is not flushed to disk: a power cut may undo it. */
  unflushed<T>(transaction: () => T): T {
    this.#setFlushing(false);
    return transaction();
  }

  #commit(group: readonly Write[], isFlushed: boolean): void {
    try {
      this.#setFlushing(isFlushed);
      this.#begin.run([]);
    } catch (cause) {
      // Whoever has the file would keep each of them waiting as long as all of them, and the process with them.
      this.#fail(group, cause);
      return;
    }
    try {
      this.#hooks.begin();
      for (const write of group) write.run();
      this.#hooks.finish();
      this.#commitGroup.run([]);
    } catch (cause) {
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      // One write that cannot be stored, such as one too large for what is left of the disk, must not fail the rest.
      if (group.length > 1) for (const write of group) this.#commit([write], isFlushed);
      else this.#fail(group, cause);
      return;
    }
    if (this.#isDown) {
      this.#isDown = false;
      this.#hooks.stateChanged({ state: "up" });
    }
    this.#hooks.committed();
    for (const write of group) write.committed();
  }

  /** FULL flushes the log with each commit, and so what earlier commits wrote to it; NORMAL does not. */
  #setFlushing(isFlushing: boolean): void {
    if (this.#isFlushing === isFlushing) return;
    this.#db.exec(`PRAGMA synchronous = ${isFlushing ? "FULL" : "NORMAL"}`);
    this.#isFlushing = isFlushing;
  }

  #fail(group: readonly Write[], cause: unknown): void {
    const error = storeErrorOf(cause, this.#path);
    // What the store itself refuses says nothing about the database.
    if (!this.#isDown && !(cause instanceof StoreError) && !isConstraint(cause)) {
      this.#isDown = true;
      this.#hooks.stateChanged({ state: "down", reason: error.message });
    }
    for (const write of group) write.failed(error);
  }
}
