import type Database from "libsql";

/** The position of a table's last row; 0 when it has none. */
export function lastOf(db: Database.Database, table: string): number {
  const row = db.prepare(`SELECT max(seq) AS seq FROM ${table}`).get([]) as { readonly seq: number | null };
  return row.seq ?? 0;
}
