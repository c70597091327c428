import { startPostgres, type TestPostgres } from "../support/start-postgres.ts";

/** What a database or a role may have set, and a store must not depend on. */
const UNUSUAL = {
  DateStyle: "SQL, DMY",
  IntervalStyle: "sql_standard",
  TimeZone: "Asia/Kolkata",
  array_nulls: "off",
  bytea_output: "escape",
  default_transaction_isolation: "serializable",
  extra_float_digits: "0",
  idle_in_transaction_session_timeout: "5s",
  idle_session_timeout: "5s",
  lock_timeout: "5s",
  quote_all_identifiers: "on",
  row_security: "off",
  search_path: "nowhere",
  standard_conforming_strings: "off",
  statement_timeout: "2s",
  transform_null_equals: "on",
};

let server: TestPostgres | undefined;

/** Starts the server of all files, unless `POSTGRES_URL` names one. */
export async function setup(): Promise<void> {
  if (process.env["POSTGRES_URL"] !== undefined) return;
  server = await startPostgres({ fsync: "off", max_connections: "300", ...UNUSUAL });
  process.env["COUNTERSIGN_TEST_POSTGRES"] = server?.url;
}

export async function teardown(): Promise<void> {
  await server?.stop();
}
