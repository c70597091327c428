import type Database from "libsql";
import { StoreError } from "../store/store-error.ts";
import { inTransaction } from "./in-transaction.ts";
import { MIGRATIONS } from "./migrations.ts";

/** "CSND": says in the file's header whose it is. */
const APPLICATION_ID = 0x43534e44;

/**
 * Brings a database that {@link assertOurs} lets pass to the present schema, in one transaction: one that fails leaves
 * the file as it was.
 *
 * @param steps each takes a file from the version of its position to the next
 * @returns how often it was opened before
 */
export function migrate(
  db: Database.Database,
  steps: readonly string[] = MIGRATIONS,
): { readonly generation: number } {
  // Taking the write lock first also finds out whether the file can be written.
  return inTransaction(db, () => {
    const version = numberOf(db, "PRAGMA user_version");
    for (const step of steps.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${APPLICATION_ID}`);
    const generation = numberOf(db, "SELECT value FROM meta WHERE key = 'opened'");
    db.exec("UPDATE meta SET value = value + 1 WHERE key = 'opened'");
    return { generation };
  });
}

/**
 * Refuses a database that is not for this version to write. Only reads, so that nothing in it is changed.
 *
 * @throws StoreError when a newer version, or another program, wrote it
 */
export function assertOurs(db: Database.Database, path: string): void {
  const version = numberOf(db, "PRAGMA user_version");
  const owner = numberOf(db, "PRAGMA application_id");
  const isEmpty = numberOf(db, "SELECT count(*) FROM sqlite_schema") === 0;
  if (owner !== APPLICATION_ID && !isEmpty) {
    throw new StoreError(
      "ERR_STORE_FOREIGN",
      `The file ${path} belongs to another program. Use another path.`,
    );
  }
  if (version > MIGRATIONS.length) {
    throw new StoreError(
      "ERR_STORE_NEWER",
      `The store ${path} has schema version ${version}; this version of @countersign/sender knows ${MIGRATIONS.length}. Upgrade it, or use another file.`,
    );
  }
}

function numberOf(db: Database.Database, sql: string): number {
  const row: unknown = db.prepare(sql).raw().get([]);
  return Array.isArray(row) ? Number(row[0]) : 0;
}
