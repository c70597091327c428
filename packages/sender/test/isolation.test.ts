import { type Clock, systemClock, type Transport } from "@countersign/sender";
import { expect, it } from "vitest";
import { comparesClocks, openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";

it("a destination that never answers takes nothing from another one", async () => {
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

// A store that compares clocks refuses the calls of a process whose time is set back: nothing more is in progress then.
it.skipIf(comparesClocks)(
  "no more deliveries are in progress than allowed when the system's time is set back",
  async () => {
    const system = systemClock();
    let backMs = 0;
    const clock: Clock = { ...system, now: () => system.now() - backMs };
    const silent = silentTransport();
    let underWay = 0;
    const transport: Transport = {
      ...silent,
      send(request, options) {
        underWay += 1;
        return silent.send(request, options);
      },
    };
    const destinations = [{ concurrency: 3, endpoints: [{ url: "http://127.0.0.1:9/" }] }];
    const sender = await openSender({ sources: [{ name: "shop", destinations }], clock, transport });
    const call = (): Promise<unknown> => sender.track({ userId: "u1", event: "e" });
    await Promise.all([call(), call()]);
    await expect.poll(() => underWay).toBe(2);
    backMs = 3_600_000;
    await Promise.all([call(), call(), call()]);
    await expect.poll(() => underWay).toBe(3);
    // What is stored is claimed in the same turn, so that one more call has shown all there is to see.
    await call();
    expect(underWay).toBe(3);
  },
);
