import { closeSync, fdatasync, fsyncSync, openSync } from "node:fs";
import type Database from "libsql";
import { fileOf } from "./file-lock.ts";

/** What SQLite says of a checkpoint. */
interface Checkpoint {
  /** 1: another program has kept it from writing everything into the database. */
  readonly busy: number;
}

/**
 * The write-ahead log of an open database. SQLite would wait for the disk with each commit, and the whole process with it; here
 * the system's threads wait.
 */
export class LogFile {
  readonly #db: Database.Database;
  readonly #descriptor: number;
  /** Whether a flush has failed, and nothing has put that right: what the system takes for flushed need not be on the disk. */
  isDoubtful = false;

  /** @param path That of the database. */
  constructor(db: Database.Database, path: string) {
    this.#db = db;
    // What is appended must not change the file's own time of access; Windows flushes only what may be written.
    this.#descriptor = openSync(`${fileOf(path)}-wal`, "r+");
    // From now on, a commit returns when it is in the log, and flush() has the log on the disk.
    db.exec("PRAGMA synchronous = NORMAL");
  }

  /** Calls `done` once everything that was committed before is on the disk, or with the reason why that is not known. */
  flush(done: (reason?: unknown) => void): void {
    fdatasync(this.#descriptor, (error) => {
      if (error !== null) this.isDoubtful = true;
      try {
        if (this.isDoubtful) this.#empty();
      } catch (reason) {
        done(reason);
        return;
      }
      done();
    });
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /**
   * Has everything in the database itself, and the log empty. A system that has told that a flush failed takes what it could not write
   * for written (Linux does), so that to flush the log again would say nothing.
   */
  #empty(): void {
    const [checkpoint] = this.#db.pragma("wal_checkpoint(TRUNCATE)") as Checkpoint[];
    if (checkpoint?.busy !== 0)
      throw Object.assign(new Error("its log could not be flushed"), { code: "SQLITE_BUSY" });
    // What is left of the log would be read in place of what the database has.
    fsyncSync(this.#descriptor);
    this.isDoubtful = false;
  }
}
