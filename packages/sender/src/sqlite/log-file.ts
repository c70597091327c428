import { readSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "node:timers";
import { codeOf } from "@countersign/protocol";
import { fileOf } from "./file-lock.ts";
import type { SqlCommands } from "./sql-commands.ts";

/** How much of the log is written again at a time. */
const PIECE_BYTES = 1_000_000;

/** How long a flush may take until it counts as failed: whoever waits for it keeps what was to be written in memory. */
const LATEST_MS = 5_000;

/**
 * The write-ahead log of an open database. SQLite would wait for the disk with each commit, and the whole process with it; here
 * the system's threads wait, where Node may flush a file.
 */
export class LogFile {
  readonly #db: SqlCommands;
  /** Undefined: SQLite flushes each commit. */
  readonly #file: FileHandle | undefined;
  /** Whether the last flush has failed: what was committed before it need not be on the disk. */
  isDoubtful = false;
  #isHanging = false;
  /** Whether the system knows what it has to flush: when a flush has failed, it takes all for flushed (Linux does). */
  #isWhole = true;

  private constructor(db: SqlCommands, file: FileHandle | undefined) {
    this.#db = db;
    this.#file = file;
  }

  /**
   * Opens the log of a database in WAL mode that something was read from, which makes the log.
   *
   * @param path That of the database.
   * @throws what opening a file throws
   */
  static async open(db: SqlCommands, path: string): Promise<LogFile> {
    // Windows flushes only what may be written.
    const file = await open(`${fileOf(path)}-wal`, "r+");
    const isAllowed = await mayFlush(file);
    // From now on, a commit returns when it is in the log, and flush() has the log on the disk; else, when it is on the disk.
    db.exec(`PRAGMA synchronous = ${isAllowed ? "NORMAL" : "FULL"}`);
    if (isAllowed) return new LogFile(db, file);
    await file.close();
    return new LogFile(db, undefined);
  }

  /**
   * Resolves once everything is on the disk that was committed before. What is committed meanwhile need not be. Outside of a transaction:
   * when it has failed, it begins one.
   *
   * @throws why it is not known: the disk fails, or does not answer for 5 seconds
   */
  flush(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.assertAnswering();
      let turn: NodeJS.Immediate | undefined;
      const timer = setTimeout(() => {
        // A process that was held up reads an answer that has come before it gives up.
        turn = setImmediate(() => {
          this.#isHanging = true;
          reject(notAnswering());
        });
      }, LATEST_MS);
      const ended = (): void => {
        clearTimeout(timer);
        clearImmediate(turn);
        this.#isHanging = false;
      };
      this.#flush(file).finally(ended).then(resolve, reject);
    });
  }

  /** @throws while a flush takes longer than 5 seconds */
  assertAnswering(): void {
    if (this.#isHanging) throw notAnswering();
  }

  /** Closes it, once the flush has ended that is under way. Flush nothing after that. */
  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #flush(file: FileHandle): Promise<void> {
    for (let isAgain = false; ; isAgain = true) {
      // Not by the descriptor: under Node's permission model, several versions allow that of handles only.
      const failure = await file.datasync().then(
        () => undefined,
        (reason: unknown) => ({ reason }),
      );
      if (failure !== undefined) this.#isWhole = false;
      this.isDoubtful = !this.#isWhole;
      if (!this.isDoubtful) return;
      this.#writeAgain(file);
      if (isAgain && failure !== undefined) throw failure.reason;
    }
  }

  /**
   * Writes the log over itself, so that the next flush says the truth, ours or that of a checkpoint. A checkpoint instead of it would
   * take a log with gaps for whole: a power cut in the midst of it would leave a database that is damaged.
   */
  #writeAgain({ fd }: FileHandle): void {
    // No other program may add to the log meanwhile, or begin it anew.
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      for (let at = 0; ;) {
        const read = readSync(fd, piece, 0, PIECE_BYTES, at);
        if (read === 0) break;
        at += writeSync(fd, piece, 0, read, at);
      }
    } finally {
      this.#db.exec("ROLLBACK");
    }
    this.#isWhole = true;
  }
}

/** Under its permission model, Node 26 flushes no file, and no option allows it. Compiled code, such as SQLite's, still may. */
async function mayFlush(file: FileHandle): Promise<boolean> {
  if (process.permission === undefined) return true;
  return file.datasync().then(
    () => true,
    // A disk that fails is told by the first flush.
    (error: unknown) => codeOf(error) !== "ERR_ACCESS_DENIED",
  );
}

function notAnswering(): Error {
  return new Error(
    `its disk has not answered for ${LATEST_MS / 1_000} s. Check the disk: what is to be stored is refused until it answers`,
  );
}
