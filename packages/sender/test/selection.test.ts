import type { Sender, SenderEvents } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";

describe("selection by integrations", () => {
  it.each<[Record<string, boolean | object> | undefined, boolean]>([
    [undefined, true],
    [{}, true],
    [{ All: true }, true],
    [{ All: false }, false],
    [{ All: false, Webhooks: true }, true],
    [{ All: false, webhooks: true }, false],
    [{ All: false, Mixpanel: true }, false],
    [{ Webhooks: false }, false],
    [{ All: true, Webhooks: false }, false],
    [{ WEBHOOKS: false }, true],
    [{ all: false }, true],
    [{ All: false, Webhooks: {} }, true],
  ])("%j", async (integrations, isSent) => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const skipped: SenderEvents["skipped"][] = [];
    sender.on("skipped", (event) => skipped.push(event));
    const receipt = await sender.track({ userId: "u1", event: "Bought", integrations });
    await sender.idle();
    expect(receiver.received).toHaveLength(isSent ? 1 : 0);
    expect(receipt.skipped).toBe(isSent ? undefined : "integrations");
    expect(await receipt.settled()).toHaveLength(isSent ? 1 : 0);
    const about = { messageId: receipt.messageId, type: "track", source: "default" };
    expect(skipped).toEqual(
      isSent ? [] : [{ ...about, event: "Bought", identity: "u1", reason: "integrations" }],
    );
    expect(receiver.received.filter(({ body }) => body.includes("integrations"))).toEqual([]);
  });
});

describe("events that a source blocks", () => {
  it.each([
    [false, 3],
    [true, 4],
  ])("countFiltered: %s", async (countFiltered, usage) => {
    const receiver = await startReceiver();
    const sender = await openSender({
      sources: [
        {
          name: "shop",
          blockedEvents: ["Heartbeat"],
          countFiltered,
          destinations: [{ endpoints: [{ url: receiver.url }] }],
        },
      ],
    });
    const blocked = await sender.track({ userId: "u1", event: "Heartbeat" });
    await sender.track({ userId: "u1", event: "heartbeat" });
    await sender.identify({ userId: "u1", traits: { event: "Heartbeat" } });
    await sender.page({ userId: "u1", name: "Heartbeat" });
    await sender.idle();
    expect(blocked.skipped).toBe("blocked_event");
    expect(receiver.received).toHaveLength(3);
    expect((await sender.stats()).sources).toEqual([{ source: "shop", usage }]);
  });
});

it("what the sender makes of itself, for deletions and audiences, is no usage", async () => {
  const receiver = await startReceiver();
  const sender = await openSender({ url: receiver.url });
  await sender.deleteUser("u1");
  await sender.syncAudience("Everyone", ["u1", "u2"]);
  await sender.syncComputedTrait("LTV", { u1: 1 });
  expect((await sender.stats()).sources).toEqual([{ source: "default", usage: 0 }]);
  await sender.track({ userId: "u1", event: "Bought" });
  // A call that goes nowhere by its own wish is a call.
  await sender.track({ userId: "u1", event: "Bought", integrations: { All: false } });
  expect((await sender.stats()).sources).toEqual([{ source: "default", usage: 2 }]);
});

describe("sources", () => {
  async function three(): Promise<{ sender: Sender; receiver: Receiver }> {
    const receiver = await startReceiver();
    const endpoints = (path: string): { endpoints: { url: string }[] } => ({
      endpoints: [{ url: receiver.url + path }],
    });
    const sender = await openSender({
      clock: virtualClock(),
      sources: [
        {
          name: "web",
          writeKey: "WK1",
          destinations: [endpoints("web"), { ...endpoints("web-2"), name: "copy" }],
        },
        { name: "app", writeKey: "WK2", destinations: [endpoints("app")] },
        { name: "off", writeKey: "WK3", destinations: [{ ...endpoints("off"), enabled: false }] },
      ],
    });
    return { sender, receiver };
  }

  it("a call goes to every destination of its source, known by name or write key", async () => {
    const { sender, receiver } = await three();
    const receipt = await sender.track({ userId: "u1", event: "Bought" }, { source: "web" });
    await sender.track({ userId: "u1", event: "Bought" }, { writeKey: "WK2" });
    await expect(sender.track({ userId: "u1", event: "Bought" })).rejects.toMatchObject({
      code: "ERR_UNKNOWN_SOURCE",
    });
    await sender.idle();
    expect(receipt.deliveries).toHaveLength(2);
    expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(["/app", "/web", "/web-2"]);
  });

  it("a delete reaches each affected source's destination once, with exactly three keys", async () => {
    const { sender, receiver } = await three();
    const receipts = await sender.deleteUser("u1");
    await sender.idle();
    expect(receipts).toHaveLength(2);
    expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(["/app", "/web", "/web-2"]);
    for (const { message } of receiver.received) {
      expect(message).toEqual({ type: "delete", userId: "u1", timestamp: "2026-01-01T00:00:00.000Z" });
    }
    await sender.deleteUser("u2", { sources: ["app", "app"], timestamp: "2025-05-05T05:05:05Z" });
    await sender.idle();
    expect(receiver.received).toHaveLength(4);
    expect(receiver.received.at(-1)).toMatchObject({
      path: "/app",
      message: { userId: "u2", timestamp: "2025-05-05T05:05:05.000Z" },
    });
  });

  it("a delete that is not valid is refused, also where no destination would get it", async () => {
    const { sender } = await three();
    const refused = { name: "CallError", field: "userId" };
    await expect(sender.deleteUser("", { sources: ["off"] })).rejects.toMatchObject(refused);
    const timestamp = "2026-02-30";
    await expect(sender.deleteUser("u1", { sources: ["off"], timestamp })).rejects.toMatchObject({
      field: "timestamp",
    });
    expect(await sender.deleteUser("u1", { sources: ["off"] })).toEqual([]);
  });

  it.each([null, undefined])(
    "a delete whose timestamp is %s is dated now, as a call is",
    async (timestamp) => {
      const { sender, receiver } = await three();
      // As a program in JavaScript passes it.
      await sender.deleteUser("u1", { sources: ["app"], timestamp: timestamp as undefined });
      await sender.idle();
      expect(receiver.received.map(({ message }) => message)).toEqual([
        { type: "delete", userId: "u1", timestamp: "2026-01-01T00:00:00.000Z" },
      ]);
    },
  );
});
