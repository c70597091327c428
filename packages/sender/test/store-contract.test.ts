import { shardedStore, sqliteStore } from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
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

testDeliveryStore("shardedStore() of two", () => {
  const folder = temporaryFolder();
  const open = (): DeliveryStore => {
    const [a, b] = ["a.db", "b.db"].map((name) => sqliteStore({ path: join(folder, name) }));
    return shardedStore({ a: a as DeliveryStore, b: b as DeliveryStore }, (source) =>
      source === "shop" ? "a" : "b",
    );
  };
  return { store: open(), again: open };
});
