import { type Sender, sqliteStore } from "@countersign/sender";
import { type Clock, systemClock } from "@countersign/protocol";
import { expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";

/** Those that are kept, by their events. */
async function keptBy(sender: Sender): Promise<unknown[]> {
  return (await sender.deliveries()).map(({ event }) => event);
}

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
