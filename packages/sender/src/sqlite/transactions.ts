import { statSync } from "node:fs";
import type Database from "libsql";
import type { StoreContext } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import type { AcceptanceWriter } from "./acceptance-writer.ts";
import type { DeliveryCount, DeliveryCounter } from "./delivery-counter.ts";
import type { FileRoom } from "./file-room.ts";
import { rollBack } from "./in-transaction.ts";
import type { LogFile } from "./log-file.ts";
import type { Retention } from "./retention.ts";
import { MEMORY_PATH } from "./open-database.ts";
import { isConstraint, REMOVED_CODE, storeErrorOf, unknownErrorOf } from "./sqlite-error.ts";
import type { Waiting, Write } from "./write-queue.ts";

/** The parts that transactions use. */
interface TransactionParts {
  readonly path: string;
  /** Undefined: the store is in memory, which no disk can have. */
  readonly log: LogFile | undefined;
  readonly writer: AcceptanceWriter;
  readonly counter: DeliveryCounter;
  readonly retention: Retention;
  /** Undefined: the file may grow without limit. */
  readonly room: FileRoom | undefined;
  readonly stateChanged: StoreContext["stateChanged"];
}

const NOTHING: readonly DeliveryCount[] = [];
const NOBODY: readonly Waiting[] = [];
/** A file that is missing is no error, and the numbers of Windows are no safe integers. */
const AS_IT_IS = { bigint: true, throwIfNoEntry: false } as const;

/**
 * Commits writes in groups, and flushes each group to disk once. Settlements are not flushed to disk unless something else is:
 * a power cut that undoes one repeats a delivery, and never loses an accepted call.
 */
export class Transactions {
  readonly #db: Database.Database;
  readonly #parts: TransactionParts;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  #isDown = false;
  /** Which file is open, whatever its path leads to later; none of a store in memory. */
  readonly #file: string | undefined;

  constructor(db: Database.Database, parts: TransactionParts) {
    this.#db = db;
    this.#parts = parts;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#file = parts.path === MEMORY_PATH ? undefined : fileAt(parts.path);
  }

  /**
   * Commits a group in one transaction, and tells each of its writes whether it was. Returns who waits for the disk.
   *
   * @param isAwaited Whether anybody does.
   */
  commit(group: readonly Write[], isAwaited: boolean): readonly Waiting[] {
    try {
      if (isAwaited) this.#assertWritable();
    } catch (cause) {
      const awaited = group.filter(({ flushed }) => flushed !== undefined);
      this.#fail(awaited, storeErrorOf(cause, this.#parts.path), cause);
      // Settlements can be kept all the same, and would be repeated otherwise.
      const others = group.filter(({ flushed }) => flushed === undefined);
      if (others.length > 0) this.commit(others, false);
      return NOBODY;
    }
    try {
      this.#begin.run([]);
    } catch (cause) {
      // Whoever has the file would keep each of them waiting as long as all of them, and the process with them.
      this.#fail(group, storeErrorOf(cause, this.#parts.path), cause);
      return NOBODY;
    }
    const { writer, counter, path } = this.#parts;
    let removed: readonly DeliveryCount[];
    try {
      removed = this.#run(group);
      this.#commit.run([]);
    } catch (cause) {
      rollBack(this.#db);
      writer.clear();
      // One write that cannot be stored, such as one too large for what is left of the disk, must not fail the rest.
      if (group.length > 1) return group.flatMap((write) => this.commit([write], isAwaited));
      const error = storeErrorOf(cause, path);
      // What is in its way may have been committed a moment ago.
      if (isAwaited && isConstraint(cause))
        return group.map((write) => ({
          flushed: () => write.failed(error),
          failed: (unknown) => write.failed(unknown),
        }));
      this.#fail(group, error, cause);
      return NOBODY;
    }
    counter.forget(removed);
    for (const write of group) write.committed?.();
    if (isAwaited) return group.filter(({ flushed }) => flushed !== undefined);
    if (this.#isDown && this.#isWritable) this.#isUpAgain();
    return NOBODY;
  }

  /**
   * Has the disk have everything that was committed.
   *
   * @param done Is called with whether it does, and with what tells that to those who wait.
   */
  flush(group: readonly Waiting[], done: (isOnDisk: boolean, tell: () => void) => void): void {
    const ended = (reason?: unknown): void => {
      const isOnDisk = reason === undefined;
      done(isOnDisk, () => {
        if (isOnDisk) this.#flushed(group);
        else this.#fail(group, unknownErrorOf(reason, this.#parts.path), reason);
      });
    };
    const { log } = this.#parts;
    if (log === undefined) ended();
    else void log.flush().then(() => ended(), ended);
  }

  /** Removes some of what is outdated, in a transaction that is not flushed to disk: a power cut may undo it. */
  sweep(now: number): void {
    const { counter, retention } = this.#parts;
    counter.forget(retention.sweep(now));
  }

  /**
   * Runs a group inside of the transaction, and makes room for it.
   *
   * @returns what deliveries were removed to make room
   * @throws StoreError when a write needs room, and there is none whatever is removed
   */
  #run(group: readonly Write[]): readonly DeliveryCount[] {
    const { writer, retention, room } = this.#parts;
    // Otherwise there is as much as after the last one.
    const isShort = room !== undefined && room.left !== "ample";
    const removedBefore = isShort ? room.make(retention) : NOTHING;
    let needsRoom = false;
    for (const write of group) {
      write.run();
      if (write.needsRoom === true) needsRoom = true;
    }
    writer.write();
    if (room === undefined) return NOTHING;
    // How large the file is can be told when it has everything.
    const removed = room.make(retention);
    if (needsRoom) room.assertRoom();
    return isShort ? [...removedBefore, ...removed] : removed;
  }

  /** Refuses what the disk would not get. */
  #assertWritable(): void {
    const { path, log } = this.#parts;
    // SQLite goes on in a file that was removed or replaced, and what it writes is lost when it is closed.
    if (this.#file !== undefined && fileAt(path) !== this.#file) throw fileIsGone();
    // What it is not asked to keep now, it need not tell of later.
    log?.assertAnswering();
  }

  get #isWritable(): boolean {
    try {
      this.#assertWritable();
      return this.#parts.log?.isDoubtful !== true;
    } catch {
      return false;
    }
  }

  #flushed(group: readonly Waiting[]): void {
    // Without any, none of them may have been committed.
    if (this.#isDown && group.length > 0) this.#isUpAgain();
    for (const waiting of group) waiting.flushed?.();
  }

  #isUpAgain(): void {
    this.#isDown = false;
    this.#parts.stateChanged({ state: "up" });
  }

  #fail(group: readonly Waiting[], error: StoreError, cause: unknown): void {
    // What the store itself refuses says nothing about the database.
    if (!this.#isDown && !(cause instanceof StoreError) && !isConstraint(cause)) {
      this.#isDown = true;
      this.#parts.stateChanged({ state: "down", reason: error.message });
    }
    for (const waiting of group) waiting.failed(error);
  }
}

/** Which file a path leads to. Two file systems give out the same numbers, as a snapshot does that takes the place of what it was made of. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, AS_IT_IS);
  return found && `${found.dev}:${found.ino}`;
}

function fileIsGone(): Error {
  return Object.assign(new Error("its path leads to another file, or to none"), { code: REMOVED_CODE });
}
