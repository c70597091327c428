import type { SqlCommands } from "./sql-commands.ts";

/**
 * Runs `work` in a transaction that can write, and undoes all of it if it throws.
 *
 * @returns what `work` returns
 * @throws what `work` throws, or what SQLite does when the transaction begins or is committed
 * @example
 * ```ts
 * import Database from "libsql";
 *
 * const db = new Database("server.db");
 * const removed = inTransaction(db, () => db.prepare("DELETE FROM rejections").run([]).changes);
 * ```
 */
export function inTransaction<T>(db: SqlCommands, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/**
 * Undoes a transaction that has failed. When a disk is full or fails, SQLite has undone it by itself: to undo it again would be
 * another error, and hide the first one.
 */
export function rollBack(db: SqlCommands): void {
  if (db.inTransaction) db.exec("ROLLBACK");
}
