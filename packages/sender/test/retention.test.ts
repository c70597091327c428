import { type Sender, sqliteStore } from "@countersign/sender";
import { type Clock, systemClock } from "@countersign/protocol";
import { virtualClock } from "@countersign/sender/testing";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** Those that are kept, by their events. */
async function keptBy(sender: Sender): Promise<unknown[]> {
  return (await sender.deliveries()).map(({ event }) => event);
}

it("what is outdated goes within a minute, also while nothing is written and after a restart", async () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const receiver = await startReceiver();
  const before = await openSender({
    url: receiver.url,
    clock: virtualClock("2026-11-22"),
    store: sqliteStore({ path, keepFor: "7d" }),
  });
  // More than are removed at a time.
  for (let index = 0; index < 500; index += 1) void before.track({ userId: "u1", event: "Old" });
  await before.idle();
  await before.close();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());

  const clock = virtualClock("2026-11-30");
  const sender = await openSender({
    url: receiver.url,
    clock,
    store: sqliteStore({ path, keepFor: "7d" }),
  });
  expect(await sender.count({})).toBe(500);
  await vi.advanceTimersByTimeAsync(61_000);

  expect(await sender.count({})).toBe(0);
  expect((await sender.stats()).destinations).toMatchObject([{ delivered: 0 }]);
});

it("a system clock that was ahead for a while, and was set back, does not put it off", async () => {
  const receiver = await startReceiver();
  const system = systemClock();
  let aheadMs = 0;
  const clock: Clock = {
    ...system,
    now: () => system.now() + aheadMs,
    schedule: (at, task) => system.schedule(at - aheadMs, task),
  };
  const sender = await openSender({ url: receiver.url, clock, store: sqliteStore({ keepFor: "1h" }) });
  const deliver = async (event: string): Promise<void> => {
    await sender.expect(await sender.track({ userId: "u1", event })).delivered();
  };

  aheadMs = 24 * 3_600_000;
  await deliver("Ahead");
  aheadMs = 0;
  await deliver("Old");
  aheadMs = 2 * 3_600_000;
  await deliver("Later");

  expect(await keptBy(sender)).toEqual(["Ahead", "Later"]);
});
