import { postgresStore } from "@countersign/postgres";
import { afterAll, describe } from "vitest";
import { testDeliveryStore } from "../../sender/test/support/delivery-store-contract.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres();

describe.skipIf(server === undefined)(
  `the contract of a DeliveryStore (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    testDeliveryStore("postgresStore", () => {
      const where = { url: server?.url ?? "postgres://127.0.0.1", schema: newSchema() };
      return { store: postgresStore(where), again: () => postgresStore(where) };
    });
  },
);
