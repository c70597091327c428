import type { RecordedCall } from "@countersign/protocol";
import { CallError, sqliteStore, type Sender, type SenderEvents } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";

const TIMESTAMP = "2026-01-31T08:30:00.000Z";
const track = (messageId: string, fields: Partial<RecordedCall> = {}): RecordedCall => ({
  type: "track",
  messageId,
  timestamp: TIMESTAMP,
  userId: "u1",
  event: "Bought",
  ...fields,
});

async function single(): Promise<{ sender: Sender; receiver: Receiver }> {
  const receiver = await startReceiver();
  return { sender: await openSender({ url: receiver.url }), receiver };
}

describe("accept()", () => {
  it("stores a list of recorded calls, and gives their receipts in order", async () => {
    const { sender, receiver } = await single();
    const calls: RecordedCall[] = [
      track("m1", { properties: { total: 12 }, context: { ip: "192.0.2.1" } }),
      { type: "alias", messageId: "m2", timestamp: TIMESTAMP, userId: "new", previousId: "old" },
      { type: "page", messageId: "m3", timestamp: TIMESTAMP, anonymousId: "a1", name: "Home" },
    ];

    const receipts = await sender.accept(calls, { source: "default" });
    const deliveries = await Promise.all(receipts.map((receipt) => receipt.settled()));

    expect(receipts.map(({ messageId }) => messageId)).toEqual(["m1", "m2", "m3"]);
    expect(deliveries.map(([delivery]) => delivery?.messageId)).toEqual(["m1", "m2", "m3"]);
    expect(receiver.received.map(({ body }) => body).toSorted()).toEqual(
      [
        `{"version":1,"type":"track","messageId":"m1","userId":"u1","event":"Bought","properties":{"total":12},"timestamp":"${TIMESTAMP}","context":{"ip":"192.0.2.1"}}`,
        `{"version":1,"type":"alias","messageId":"m2","userId":"new","Previous ID":"old","User ID":"new","timestamp":"${TIMESTAMP}","context":{}}`,
        `{"version":1,"type":"page","messageId":"m3","anonymousId":"a1","name":"Home","properties":{},"timestamp":"${TIMESTAMP}","context":{}}`,
      ].toSorted(),
    );
    expect((await sender.stats()).sources).toEqual([{ source: "default", usage: 3 }]);
  });

  it("does not count again what a server merged into a call that fits", async () => {
    const { sender, receiver } = await single();
    const properties = { filler: "x".repeat(32_600) };
    const context = { library: "y".repeat(32_000) };

    const [receipt] = await sender.accept([track("m1", { properties, context })]);
    await receipt?.settled();

    expect(receiver.received[0]?.message).toMatchObject({ properties, context });
  });

  it("stores all of a list or nothing", async () => {
    const store = sqliteStore({ maxBytes: 1_000_000 });
    const sender = await openSender({ url: "http://127.0.0.1:9/", store, transport: silentTransport() });
    const properties = { filler: "x".repeat(30_000) };
    const calls = Array.from({ length: 40 }, (_, index) => track(`m${index}`, { properties }));

    await expect(sender.accept(calls)).rejects.toMatchObject({ code: "ERR_STORE_FULL" });

    expect(await sender.deliveries()).toEqual([]);
    expect((await sender.stats()).sources).toMatchObject([{ usage: 0 }]);
    expect(await sender.accept(calls.slice(0, 3))).toHaveLength(3);
  });

  it("skips blocked events and calls that integrations turn off, and reports them in order", async () => {
    const receiver = await startReceiver();
    const destinations = [{ endpoints: [{ url: receiver.url }] }];
    const sender = await openSender({
      sources: [{ name: "shop", writeKey: "WK1", blockedEvents: ["No"], destinations }],
    });
    const events: SenderEvents["skipped"][] = [];
    sender.on("skipped", (event) => events.push(event));

    const receipts = await sender.accept(
      [track("m1", { event: "No" }), track("m2"), track("m3", { integrations: { All: false } })],
      { writeKey: "WK1" },
    );
    await sender.idle();

    expect(receipts.map(({ skipped }) => skipped)).toEqual(["blocked_event", undefined, "integrations"]);
    expect(events.map(({ messageId, reason }) => [messageId, reason])).toEqual([
      ["m1", "blocked_event"],
      ["m3", "integrations"],
    ]);
    expect(receiver.received.map(({ message }) => message["messageId"])).toEqual(["m2"]);
  });

  it("gives an id to a call without one", async () => {
    const { sender, receiver } = await single();
    const { messageId, ...call } = track("m1");
    const [first, second] = await sender.accept([call, call]);
    await sender.idle();
    expect(new Set([messageId, first?.messageId, second?.messageId]).size).toBe(3);
    expect(receiver.received.map(({ message }) => message["messageId"])).toContain(first?.messageId);
  });

  it("takes an empty list", async () => {
    const { sender } = await single();
    expect(await sender.accept([])).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a text", "track"],
    ["no type", { messageId: "m2", timestamp: TIMESTAMP, userId: "u1" }],
    ["a type of no call", { type: "delete", messageId: "m2", timestamp: TIMESTAMP, userId: "u1" }],
    [
      "an id of 100 characters",
      { type: "page", timestamp: TIMESTAMP, userId: "u1", messageId: "m".repeat(100) },
    ],
    ["no time", { type: "page", messageId: "m2", userId: "u1" }],
    ["no identity", { type: "page", messageId: "m2", timestamp: TIMESTAMP }],
    ["a BigInt", track("m2", { properties: { n: 1n } })],
  ])("refuses a list with %s in it and stores nothing", async (_name, item) => {
    const { sender, receiver } = await single();

    // Callers in plain JavaScript get no help from the types.
    const error: unknown = await sender
      .accept([track("m1"), item as RecordedCall])
      .catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(CallError);
    await sender.idle();
    expect(receiver.received).toEqual([]);
  });

  it("refuses what is not a list, an unknown source and an unknown option", async () => {
    const { sender } = await single();
    // @ts-expect-error -- one call is not a list
    await expect(sender.accept(track("m1"))).rejects.toThrow("accept() takes a list of recorded calls");
    await expect(sender.accept([], { source: "other" })).rejects.toMatchObject({
      code: "ERR_UNKNOWN_SOURCE",
    });
    // @ts-expect-error -- it is called source
    await expect(sender.accept([], { sources: "shop" })).rejects.toThrow('did you mean "source"?');
  });

  it("refuses a field that no call has, as track() does: it would be lost", async () => {
    const { sender } = await single();
    const call = {
      type: "track",
      timestamp: "2026-01-31T08:30:00.000Z",
      userId: "u1",
      event: "E",
      propertys: {},
    };
    await expect(sender.accept([call as never])).rejects.toMatchObject({
      code: "ERR_FIELD_UNKNOWN",
      field: "propertys",
      message: "accept(): item 0 has no field 'propertys'; did you mean \"properties\"?",
    });
    const { propertys: _, ...misnamed } = { ...call, distinctId: "u1" };
    await expect(sender.accept([misnamed as never])).rejects.toThrow("it is called userId here");
  });
});
