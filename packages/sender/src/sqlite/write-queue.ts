import type Database from "libsql";
import type { StoreState } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import { isConstraint, storeErrorOf } from "./sqlite-error.ts";

interface Write {
  /** Runs inside of a transaction; may run again in another one. */
  readonly run: () => void;
  /** Runs once, after the transaction was committed. */
  readonly committed: () => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** What is to be done for a transaction as a whole. */
export interface TransactionHooks {
  /** Runs first; what an earlier transaction left undone because it failed is to be forgotten. */
  readonly begin: () => void;
  /** Runs last inside of the transaction. */
  readonly finish: () => void;
  /** Runs once everything of a turn was committed, or failed. */
  readonly flushed: () => void;
  /** Runs when the database can no longer be written, or can be written again. */
  readonly stateChanged: (state: StoreState) => void;
}

/**
 * Group commit: everything written in one turn of the event loop is committed, and so flushed to disk, once.
 * A promise resolves after the commit that has its write.
 */
export class WriteQueue {
  readonly #db: Database.Database;
  readonly #path: string;
  readonly #hooks: TransactionHooks;
  #waiting: Write[] = [];
  #turn: NodeJS.Immediate | undefined;
  #isDown = false;

  constructor(db: Database.Database, path: string, hooks: TransactionHooks) {
    this.#db = db;
    this.#path = path;
    this.#hooks = hooks;
  }

  /** Has a write committed with the others of this turn. Rejects with a StoreError, with nothing of it written. */
  add(run: () => void, committed: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run, committed, resolve, reject });
      this.#turn ??= setImmediate(this.flush);
    });
  }

  /** Commits what is waiting, now. */
  readonly flush = (): void => {
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    this.#turn = undefined;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    this.#commit(group);
    this.#hooks.flushed();
  };

  #commit(group: readonly Write[]): void {
    try {
      this.#db.exec("BEGIN IMMEDIATE");
    } catch (cause) {
      // Whoever has the file would keep each of them waiting as long as all of them, and the process with them.
      this.#fail(group, cause);
      return;
    }
    try {
      this.#hooks.begin();
      for (const write of group) write.run();
      this.#hooks.finish();
      this.#db.exec("COMMIT");
    } catch (cause) {
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      // One write that cannot be stored, such as one too large for what is left of the disk, must not fail the rest.
      if (group.length > 1) for (const write of group) this.#commit([write]);
      else this.#fail(group, cause);
      return;
    }
    if (this.#isDown) {
      this.#isDown = false;
      this.#hooks.stateChanged({ state: "up" });
    }
    for (const write of group) {
      write.committed();
      write.resolve();
    }
  }

  #fail(group: readonly Write[], cause: unknown): void {
    const error = storeErrorOf(cause, this.#path);
    // What the store itself refuses says nothing about the database.
    if (!this.#isDown && !(cause instanceof StoreError) && !isConstraint(cause)) {
      this.#isDown = true;
      this.#hooks.stateChanged({ state: "down", reason: error.message });
    }
    for (const write of group) write.reject(error);
  }
}
