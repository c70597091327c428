import { startPostgres, type TestPostgres } from "../support/start-postgres.ts";

let server: TestPostgres | undefined;

/** Starts the server of all files, unless `POSTGRES_URL` names one. */
export async function setup(): Promise<void> {
  if (process.env["POSTGRES_URL"] !== undefined) return;
  server = await startPostgres({ fsync: "off", max_connections: "300" });
  process.env["COUNTERSIGN_TEST_POSTGRES"] = server?.url;
}

export async function teardown(): Promise<void> {
  await server?.stop();
}
