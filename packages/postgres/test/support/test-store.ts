import { postgresStore } from "@countersign/postgres";
import type { DeliveryStore } from "@countersign/sender/store";
import { newSchema } from "./start-postgres.ts";

/**
 * An empty store for the tests of the sender: `COUNTERSIGN_TEST_STORE` names this module, and `POSTGRES_URL` the server.
 */
export function createTestStore(): DeliveryStore {
  const url = process.env["POSTGRES_URL"];
  if (url === undefined) throw new Error("Set POSTGRES_URL to the URL of a PostgreSQL server.");
  return postgresStore({ url, schema: newSchema() });
}
