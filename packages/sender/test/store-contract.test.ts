import { shardedStore, sqliteStore } from "@countersign/sender";
import type { Accepted, DeliveryStore } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { join } from "node:path";
import { expect, it } from "vitest";
import { acceptanceOf, quietContext } from "./support/acceptances.ts";
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

it("a full sqliteStore forgets the oldest keys of repeats, and refuses no call for them", async () => {
  const store = sqliteStore({ maxBytes: 600_000 });
  const clock = virtualClock();
  await store.open(quietContext(clock));
  const accept = (keys: readonly string[]): Promise<Accepted> => {
    const about = { destination: "shop/crm", acceptedAt: clock.now() };
    const { calls } = acceptanceOf(keys.map((key) => ({ id: key, key, ...about })));
    return store.accept({ calls, messages: [], deliveries: [], uniqueForMs: 86_400_000 });
  };
  const keyOf = (index: number): string => `${"k".repeat(80)} ${index}`;
  for (let from = 0; from < 10_000; from += 100) {
    await accept(Array.from({ length: 100 }, (_, index) => keyOf(from + index)));
  }
  expect(await accept([keyOf(9_999)])).toMatchObject({ repeats: [0] });
  expect(await accept([keyOf(0)])).toMatchObject({ repeats: [] });
  expect((await store.usage()).get("shop")).toBe(10_001);
  await store.close();
});
