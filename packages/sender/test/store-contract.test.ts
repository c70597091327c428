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

testDeliveryStore("sqliteStore({ path, maxBytes })", () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const open = (): DeliveryStore => sqliteStore({ path, maxBytes: 50_000_000 });
  return { store: open(), again: open };
});

testDeliveryStore("a job queue", () => ({ store: new QueueStore() }));

testDeliveryStore("shardedStore() of two", () => {
  const folder = temporaryFolder();
  const open = (): DeliveryStore => {
    const [a, b] = ["a.db", "b.db"].map((name) => sqliteStore({ path: join(folder, name) }));
    const stores = new Map([
      ["shop", "a"],
      ["app", "b"],
    ]);
    return shardedStore(
      { a: a as DeliveryStore, b: b as DeliveryStore },
      (source) => stores.get(source) ?? "none",
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

it.each<[string, () => DeliveryStore, number | undefined]>([
  ["a store in memory", () => sqliteStore(), 999_997_440],
  ["one with maxBytes", () => sqliteStore({ maxBytes: 600_000 }), 598_016],
  ["a file that may grow", () => sqliteStore({ path: join(temporaryFolder(), "deliveries.db") }), undefined],
  [
    "several, of which one may grow",
    () =>
      shardedStore(
        {
          large: sqliteStore({ maxBytes: 6_000_000 }),
          small: sqliteStore({ maxBytes: 600_000 }),
          file: sqliteStore({ path: join(temporaryFolder(), "deliveries.db") }),
        },
        () => "large",
      ),
    598_016,
  ],
])("the limit of %s is that of the part that is full first, in whole pages", async (_, make, limitBytes) => {
  const store = make();
  await store.open(quietContext(virtualClock()));
  expect((await store.space?.())?.limitBytes).toBe(limitBytes);
  await store.close();
});

it("the space of several stores is that of the others while one does not open", async () => {
  const broken: DeliveryStore = { ...sqliteStore(), open: () => Promise.reject(new Error("away")) };
  const store = shardedStore({ a: sqliteStore({ maxBytes: 600_000 }), b: broken }, () => "a");
  await store.open(quietContext(virtualClock()));
  expect((await store.space?.())?.limitBytes).toBe(598_016);
  await store.close();
});
