import type Database from "libsql";

/** What prepares statements. */
export interface Preparing {
  prepare(sql: string): Database.Statement;
}

/**
 * Prepares each text once. The ranges of a search have the same statements and bind other values: to prepare them for each message
 * took more than half of the time of sending thousands again.
 */
export function preparedOnce(db: Preparing): Preparing {
  const known = new Map<string, Database.Statement>();
  return {
    prepare: (sql) => {
      const statement = known.get(sql) ?? db.prepare(sql);
      known.set(sql, statement);
      return statement;
    },
  };
}
