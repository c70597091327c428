import { sqliteStore } from "@countersign/sender";
import { join } from "node:path";
import { testDeliveryStore } from "./support/delivery-store-contract.ts";
import { QueueStore } from "./support/queue-store.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

testDeliveryStore("sqliteStore() in memory", () => ({ store: sqliteStore() }));

testDeliveryStore("sqliteStore({ path })", () => {
  const path = join(temporaryFolder(), "deliveries.db");
  return { store: sqliteStore({ path }), again: () => sqliteStore({ path }) };
});

testDeliveryStore("a job queue", () => ({ store: new QueueStore() }));
