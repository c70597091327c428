import { type FileHandle, open } from "node:fs/promises";
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "node:timers";
import type Database from "libsql";
import { fileOf } from "./file-lock.ts";

/** What SQLite says of a checkpoint. */
interface Checkpoint {
  /** 1: another program has kept it from writing everything into the database. */
  readonly busy: number;
}

/** How long a flush may take until it counts as failed: whoever waits for it keeps what was to be written in memory. */
const LATEST_MS = 5_000;

/**
 * The write-ahead log of an open database. SQLite would wait for the disk with each commit, and the whole process with it; here
 * the system's threads wait.
 */
export class LogFile {
  readonly #db: Database.Database;
  readonly #file: FileHandle;
  /** Whether a flush has failed, and nothing has put that right: what the system takes for flushed need not be on the disk. */
  isDoubtful = false;
  #isHanging = false;

  private constructor(db: Database.Database, file: FileHandle) {
    this.#db = db;
    this.#file = file;
  }

  /**
   * Opens the log of a database in WAL mode that something was read from, which makes the log.
   *
   * @param path That of the database.
   * @throws what opening a file throws
   */
  static async open(db: Database.Database, path: string): Promise<LogFile> {
    // From now on, a commit returns when it is in the log, and flush() has the log on the disk.
    db.exec("PRAGMA synchronous = NORMAL");
    // Windows flushes only what may be written.
    return new LogFile(db, await open(`${fileOf(path)}-wal`, "r+"));
  }

  /**
   * Resolves once everything is on the disk that was committed before. What is committed meanwhile need not be.
   *
   * @throws why that is not known: the disk fails, or does not answer for 5 seconds
   */
  async flush(): Promise<void> {
    this.assertAnswering();
    const flushing = this.#flush();
    let stop = (): void => {};
    const late = new Promise<never>((_, reject) => {
      const timer = setTimeout(() => {
        // A process that was held up reads an answer that has come before it gives up.
        const turn = setImmediate(() => {
          this.#isHanging = true;
          reject(notAnswering());
        });
        stop = () => clearImmediate(turn);
      }, LATEST_MS);
      stop = () => clearTimeout(timer);
    });
    const ended = (): void => {
      stop();
      this.#isHanging = false;
    };
    flushing.then(ended, ended);
    await Promise.race([flushing, late]);
  }

  /** @throws while a flush takes longer than 5 seconds */
  assertAnswering(): void {
    if (this.#isHanging) throw notAnswering();
  }

  async #flush(): Promise<void> {
    try {
      // Not by the descriptor: Node's permission model allows that of handles only.
      await this.#file.datasync();
    } catch {
      this.isDoubtful = true;
    }
    if (this.isDoubtful) await this.#empty();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /**
   * Has everything in the database itself, and the log empty. A system that has told that a flush failed takes what it could not write
   * for written (Linux does), so that to flush the log again would say nothing.
   */
  async #empty(): Promise<void> {
    const [checkpoint] = this.#db.pragma("wal_checkpoint(TRUNCATE)") as Checkpoint[];
    if (checkpoint?.busy !== 0)
      throw Object.assign(new Error("its log could not be flushed"), { code: "SQLITE_BUSY" });
    // What is left of the log would be read in place of what the database has.
    await this.#file.sync();
    this.isDoubtful = false;
  }
}

function notAnswering(): Error {
  return new Error(`its disk has not answered for ${LATEST_MS / 1_000} s`);
}
