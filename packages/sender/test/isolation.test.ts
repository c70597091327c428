import { expect, test } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";

test("a destination that never answers takes nothing from another one", async () => {
  const receiver = await startReceiver(({ path }) => (path === "/silent" ? "never" : { status: 200 }));
  const sender = await openSender({
    attemptTimeout: "1m",
    sources: [
      {
        name: "shop",
        destinations: [
          { name: "silent", concurrency: 7, endpoints: [{ url: `${receiver.url}silent` }] },
          { name: "good", endpoints: [{ url: `${receiver.url}good` }] },
        ],
      },
    ],
  });
  const receipts = await Promise.all(
    Array.from({ length: 500 }, () => sender.track({ userId: "u1", event: "e" })),
  );
  await expect
    .poll(async () => (await sender.stats()).destinations, { timeout: 15_000 })
    .toMatchObject([
      { destination: "shop/silent", pending: receipts.length, delivered: 0 },
      { destination: "shop/good", pending: 0, delivered: receipts.length },
    ]);
  expect(receiver.received.filter(({ path }) => path === "/silent")).toHaveLength(7);
});
