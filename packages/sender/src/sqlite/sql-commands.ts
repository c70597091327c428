/**
 * What a transaction needs of a database of libsql. The types of the package name none of libsql's, which are not there where it has no
 * build.
 */
export interface SqlCommands {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
}
