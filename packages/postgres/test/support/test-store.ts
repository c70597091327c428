import { postgresStore } from "@countersign/postgres";
import type { DeliveryStore } from "@countersign/sender/store";
import { newSchema } from "./start-postgres.ts";

/**
 * An empty store for the tests of the sender: `COUNTERSIGN_TEST_STORE` names this module. The server is the one that
 * `test/sender/start-server.ts` has started, or that of `POSTGRES_URL`.
 */
export function createTestStore(): DeliveryStore {
  const url = process.env["COUNTERSIGN_TEST_POSTGRES"] ?? process.env["POSTGRES_URL"];
  if (url === undefined) throw new Error("Set POSTGRES_URL to the URL of a PostgreSQL server.");
  return postgresStore({ url, schema: newSchema() });
}

/** It is unsafe to claim by a clock that differs from the database's by more than a second. */
export const COMPARES_CLOCKS = true;

/** Closing settles, leaves the list of workers and ends connections, each with a round trip. */
export const CLOSE_MS = 2_000;
