import { sqliteStore } from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { QueueStore } from "./support/queue-store.ts";
import { startReceiver } from "./support/receiver.ts";

describe.each<[string, () => DeliveryStore]>([
  ["a table", () => sqliteStore()],
  ["a job queue", () => new QueueStore()],
])("the engine over %s", (_name, makeStore) => {
  it("retries, ends, repeats, counts and syncs in the same way", async () => {
    const receiver = await startReceiver(({ path, message }) => {
      if (path === "/refuses") return { status: 410 };
      const isUp = clock.now() - start >= 60_000 || message["type"] === "identify";
      return { status: isUp ? 200 : 503 };
    });
    const clock = virtualClock();
    const start = clock.now();
    const endpoints = ["refuses", "recovers"].map((path) => ({ url: receiver.url + path }));
    const sender = await openSender({
      sources: [
        { name: "shop", destinations: [{ endpoints }, { name: "lost", endpoints: endpoints.slice(0, 1) }] },
      ],
      clock,
      store: makeStore(),
      seed: 1,
    });
    const told: string[] = [];
    for (const event of ["delivered", "failed"] as const) {
      sender.on(event, ({ delivery }) => told.push(`${delivery.destination} ${event}`));
    }

    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("2m");
    const deliveries = await receipt.settled();
    expect(deliveries.map(({ state }) => state)).toEqual(["delivered", "failed"]);
    const rounds = deliveries[0]?.attempts.map(
      ({ round, endpoint }) => `${round} ${endpoint.replace(receiver.url, "")}`,
    );
    expect(rounds?.slice(0, 3).toSorted()).toEqual(["1 recovers", "1 refuses", "2 recovers"]);
    expect(rounds?.filter((one) => one.endsWith("refuses"))).toHaveLength(1);

    await (await sender.resend(receipt.deliveries[0] ?? "")).settled();
    expect(await sender.syncAudience("Everyone", ["a", "b"])).toMatchObject({ changed: ["a", "b"] });
    expect(await sender.syncAudience("Everyone", ["b"])).toMatchObject({ changed: [], removed: ["a"] });
    await sender.idle();
    const { destinations, sources } = await sender.stats();
    expect(sources).toEqual([{ source: "shop", usage: 1 }]);
    expect(destinations.map(({ delivered, failed, pending }) => [delivered, failed, pending])).toEqual([
      [5, 0, 0],
      [0, 4, 0],
    ]);
    expect(told.toSorted()).toEqual([
      ...Array<string>(4).fill("shop/lost failed"),
      ...Array<string>(5).fill("shop/webhooks delivered"),
    ]);
    await sender.close();
  });
});
