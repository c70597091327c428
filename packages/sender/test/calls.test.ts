import { CallError, SenderClosedError, type Sender } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { parseMessage } from "@countersign/core";
import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";

async function single(options: { secret?: string } = {}): Promise<{ sender: Sender; receiver: Receiver }> {
  const receiver = await startReceiver();
  const sender = await openSender({
    url: receiver.url,
    clock: virtualClock("2026-01-02T03:04:05.678Z"),
    ...options,
  });
  return { sender, receiver };
}

const COMMON = { context: { ip: "192.0.2.1" }, messageId: "m1", timestamp: "2024-02-03T04:05:06Z" };

describe("messages", () => {
  it("each call becomes its message, keys in the documented order", async () => {
    const { sender, receiver } = await single();
    await sender.identify({ ...COMMON, userId: "u1", anonymousId: "a1", traits: { plan: "pro" } });
    await sender.track({ ...COMMON, userId: "u1", event: "Bought", properties: { price: 1 } });
    await sender.page({ ...COMMON, userId: "u1", name: "Home", category: "Docs", properties: { url: "x" } });
    await sender.screen({ ...COMMON, anonymousId: "a1", name: "Home", category: "App" });
    await sender.group({ ...COMMON, userId: "u1", groupId: "g1", traits: { name: "I" } });
    await sender.alias({ ...COMMON, userId: "new", previousId: "old" });
    await sender.deleteUser("u1");
    await sender.idle();
    const context = `"timestamp":"2024-02-03T04:05:06.000Z","context":{"ip":"192.0.2.1"}}`;
    const head = (type: string): string => `{"version":1,"type":"${type}","messageId":"m1",`;
    expect(receiver.received.map(({ body }) => body).toSorted()).toEqual(
      [
        `${head("identify")}"userId":"u1","anonymousId":"a1","traits":{"plan":"pro"},${context}`,
        `${head("track")}"userId":"u1","event":"Bought","properties":{"price":1},${context}`,
        `${head("page")}"userId":"u1","name":"Home","category":"Docs","properties":{"url":"x"},${context}`,
        `${head("screen")}"anonymousId":"a1","name":"Home","category":"App","properties":{},${context}`,
        `${head("group")}"userId":"u1","groupId":"g1","traits":{"name":"I"},${context}`,
        `${head("alias")}"userId":"new","Previous ID":"old","User ID":"new",${context}`,
        `{"type":"delete","userId":"u1","timestamp":"2026-01-02T03:04:05.678Z"}`,
      ].toSorted(),
    );
    for (const { message } of receiver.received) expect(parseMessage(message)).toEqual(message);
  });

  it("what a call leaves out is filled in: id, time, context", async () => {
    const { sender, receiver } = await single();
    const receipt = await sender.track({ userId: "u1", anonymousId: null, event: "Bought", context: null });
    await sender.idle();
    expect(receiver.received[0]?.message).toEqual({
      version: 1,
      type: "track",
      messageId: receipt.messageId,
      userId: "u1",
      event: "Bought",
      properties: {},
      timestamp: "2026-01-02T03:04:05.678Z",
      context: {},
    });
  });

  it("whom a message is about is its userId, else its anonymousId", async () => {
    const { sender } = await single();
    await sender.page({ userId: "u1", anonymousId: "a1" });
    await sender.page({ anonymousId: "a2" });
    expect((await sender.deliveries()).map(({ identity }) => identity).toSorted()).toEqual(["a2", "u1"]);
  });

  it("what a call leaves out of its type's own fields is an empty object", async () => {
    const { sender, receiver } = await single();
    const user = { userId: "u1" };
    for (const type of ["identify", "page", "screen"] as const) await sender[type](user);
    await sender.track({ ...user, event: "Bought" });
    await sender.group({ ...user, groupId: "g1" });
    await sender.idle();
    const own = receiver.received.map(({ message: { type, properties, traits } }) => [
      type,
      properties,
      traits,
    ]);
    expect(own.toSorted()).toEqual([
      ["group", undefined, {}],
      ["identify", undefined, {}],
      ["page", {}, undefined],
      ["screen", {}, undefined],
      ["track", {}, undefined],
    ]);
  });

  it("the traits of a page are sent as its properties, which win", async () => {
    const { sender, receiver } = await single();
    await sender.page({ userId: "u1", traits: { url: "a", title: "t" }, properties: { url: "b" } });
    await sender.idle();
    expect(receiver.received[0]?.message).toMatchObject({ properties: { url: "b", title: "t" } });
    expect(receiver.received[0]?.message).not.toHaveProperty("traits");
  });

  it.each([
    ["2026-01-31T08:30:00", "2026-01-31T08:30:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["2026-01-31T08:30:00+02", "2026-01-31T06:30:00.000Z"],
    ["2026-01-31T08:30:00+0530", "2026-01-31T03:00:00.000Z"],
    ["2026-01-31T08:30:00.123456Z", "2026-01-31T08:30:00.123Z"],
  ])("the timestamp %s is %s in every time zone", async (timestamp, sent) => {
    const { sender, receiver } = await single();
    await sender.page({ userId: "u1", timestamp });
    await sender.deleteUser("u1", { timestamp });
    await sender.idle();
    expect(receiver.received.map(({ message }) => message["timestamp"])).toEqual([sent, sent]);
  });

  it("a call is serialised when it is made: later changes to it change nothing", async () => {
    const { sender, receiver } = await single();
    const properties: Record<string, unknown> = { price: 1 };
    const receipt = sender.track({ userId: "u1", event: "Bought", properties });
    properties["price"] = 2;
    await (await receipt).settled();
    expect(receiver.received[0]?.message["properties"]).toEqual({ price: 1 });
  });

  it("properties called __proto__ and constructor arrive as own properties", async () => {
    const { sender, receiver } = await single();
    const properties = JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') as Record<string, unknown>;
    await sender.track({ userId: "u1", event: "Bought", properties });
    await sender.idle();
    expect(receiver.received[0]?.body).toContain('"properties":{"__proto__":{"polluted":1},"constructor":2}');
  });

  it("the request: signature over the exact bytes, fixed headers, the endpoint's own headers", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({
      url: `${receiver.url}hooks?x=1`,
      secret: "söcret",
      headers: { "X-Team": "data" },
    });
    await sender.track({ userId: "ünïcode", event: "Bought" });
    await sender.idle();
    const [request] = receiver.received;
    expect(request?.path).toBe("/hooks?x=1");
    expect(request?.headers).toMatchObject({
      "user-agent": "Countersign/1.0",
      "content-type": "application/json",
      "x-team": "data",
    });
    const signature = String(request?.headers["x-signature"]);
    // Computed as the document says, and not by the code that made it.
    expect(signature).toBe(
      createHmac("sha1", "söcret")
        .update(request?.body ?? "")
        .digest("hex"),
    );
  });

  it("without a secret there is no X-Signature header, and every other one", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url, headers: { "X-Team": "data" } });
    await sender.track({ userId: "u1", event: "Bought" });
    await sender.idle();
    const { host: _, connection: _connection, ...headers } = receiver.received[0]?.headers ?? {};
    expect(headers).toEqual({
      "user-agent": "Countersign/1.0",
      "content-type": "application/json",
      "x-team": "data",
      "content-length": String(Buffer.byteLength(receiver.received[0]?.body ?? "")),
    });
  });

  it("each endpoint gets its own static headers, and none of another one", async () => {
    const receiver = await startReceiver();
    const endpoints = [
      { url: `${receiver.url}a`, headers: { "X-Team": "data", "X-A": "1" } },
      { url: `${receiver.url}b`, headers: { "X-Team": "sales" } },
      { url: `${receiver.url}c` },
    ];
    const sender = await openSender({ sources: [{ name: "shop", destinations: [{ endpoints }] }] });
    await sender.track({ userId: "u1", event: "Bought" });
    await sender.idle();
    const own = receiver.received.map(({ path, headers }) => [path, headers["x-team"], headers["x-a"]]);
    expect(own.toSorted()).toEqual([
      ["/a", "data", "1"],
      ["/b", "sales", undefined],
      ["/c", undefined, undefined],
    ]);
  });
});

describe("calls that are not valid", () => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const nested = (levels: number): object => (levels === 1 ? {} : { inner: nested(levels - 1) });
  // Callers in plain JavaScript get no help from the types.
  const invalid = <T>(call: unknown): T => call as T;

  it.each<[string, (sender: Sender) => Promise<unknown>, Partial<CallError>]>([
    ["no identity", (s) => s.identify(invalid({})), { code: "ERR_FIELD_MISSING", field: "userId" }],
    [
      "an empty identity",
      (s) => s.track({ userId: "", event: "e" }),
      { code: "ERR_FIELD_MISSING", field: "userId" },
    ],
    ["no event", (s) => s.track(invalid({ userId: "u1" })), { code: "ERR_FIELD_MISSING", field: "event" }],
    ["no group", (s) => s.group(invalid({ userId: "u1" })), { code: "ERR_FIELD_MISSING", field: "groupId" }],
    [
      "no previous id",
      (s) => s.alias(invalid({ userId: "u1" })),
      { code: "ERR_FIELD_MISSING", field: "previousId" },
    ],
    [
      "a number as an id",
      (s) => s.page(invalid({ userId: 7 })),
      { code: "ERR_FIELD_INVALID", field: "userId" },
    ],
    [
      "a list as traits",
      (s) => s.identify(invalid({ userId: "u1", traits: [] })),
      { code: "ERR_FIELD_INVALID", field: "traits" },
    ],
    [
      "integrations of another kind",
      (s) => s.page(invalid({ userId: "u1", integrations: true })),
      { code: "ERR_FIELD_INVALID", field: "integrations" },
    ],
    [
      "a time that is none",
      (s) => s.page({ userId: "u1", timestamp: "yesterday" }),
      { code: "ERR_FIELD_INVALID", field: "timestamp" },
    ],
    [
      "an invalid Date",
      (s) => s.page({ userId: "u1", timestamp: new Date(Number.NaN) }),
      { code: "ERR_FIELD_INVALID", field: "timestamp" },
    ],
    [
      "a day that does not exist, which would become another day",
      (s) => s.page({ userId: "u1", timestamp: "2026-02-30" }),
      { code: "ERR_FIELD_INVALID", field: "timestamp" },
    ],
    [
      "a number as text, which would become a year",
      (s) => s.page({ userId: "u1", timestamp: "1" }),
      { code: "ERR_FIELD_INVALID", field: "timestamp" },
    ],
    [
      "a day of a deletion that does not exist",
      (s) => s.deleteUser("u1", { timestamp: "2026-02-30" }),
      { code: "ERR_FIELD_INVALID", field: "timestamp" },
    ],
    [
      "a time beyond the year 9999",
      (s) => s.page({ userId: "u1", timestamp: new Date(253_402_300_800_000) }),
      { code: "ERR_FIELD_INVALID", field: "timestamp" },
    ],
    ["no object at all", (s) => s.page(invalid(null)), { code: "ERR_FIELD_INVALID" }],
    [
      "a circular value",
      (s) => s.identify({ userId: "u1", traits: circular }),
      { code: "ERR_NOT_SERIALIZABLE" },
    ],
    [
      "a function",
      (s) => s.identify({ userId: "u1", traits: { n: [() => 1] } }),
      { code: "ERR_NOT_SERIALIZABLE", field: "traits.n.0" },
    ],
    [
      "a misspelt field",
      (s) => s.track(invalid({ userId: "u1", event: "e", propertys: { total: 1 } })),
      { code: "ERR_FIELD_UNKNOWN", field: "propertys" },
    ],
    [
      "a field in upper case",
      (s) => s.identify(invalid({ userId: "u1", Traits: { plan: "pro" } })),
      { code: "ERR_FIELD_UNKNOWN", field: "Traits" },
    ],
    [
      "a field of another type of call",
      (s) => s.screen(invalid({ userId: "u1", traits: { plan: "pro" } })),
      { code: "ERR_FIELD_UNKNOWN", field: "traits" },
    ],
    [
      "a messageId of 100 characters",
      (s) => s.page({ userId: "u1", messageId: "m".repeat(100) }),
      { code: "ERR_FIELD_INVALID", field: "messageId" },
    ],
    [
      "more than 500 levels",
      (s) => s.identify({ userId: "u1", traits: nested(500) }),
      { code: "ERR_NOT_SERIALIZABLE", field: "traits" },
    ],
    ["a BigInt", (s) => s.identify({ userId: "u1", traits: { n: 1n } }), { code: "ERR_NOT_SERIALIZABLE" }],
    [
      "over 32 KiB",
      (s) => s.identify({ userId: "u1", traits: { n: "x".repeat(32_768) } }),
      { code: "ERR_CALL_TOO_LARGE" },
    ],
    [
      "an unknown source",
      (s) => s.identify({ userId: "u1" }, { source: "other" }),
      { code: "ERR_UNKNOWN_SOURCE", field: "source" },
    ],
    [
      "an unknown write key",
      (s) => s.identify({ userId: "u1" }, { writeKey: "other" }),
      { code: "ERR_UNKNOWN_SOURCE", field: "writeKey" },
    ],
    [
      "a deletion for an unknown source",
      (s) => s.deleteUser("u1", { sources: ["other"] }),
      { code: "ERR_UNKNOWN_SOURCE", field: "sources.0" },
    ],
    ["deleting nobody", (s) => s.deleteUser(""), { code: "ERR_FIELD_MISSING", field: "userId" }],
  ])("%s", async (_name, call, expected) => {
    const { sender, receiver } = await single();
    const error: unknown = await call(sender).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(CallError);
    expect(error).toMatchObject(expected);
    await sender.idle();
    expect(receiver.received).toEqual([]);
    expect(await sender.deliveries()).toEqual([]);
  });

  it("an unknown source among thousands, of which the error names the first", async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `shop-${index}`);
    const sender = await openSender({ sources: names.map((name) => ({ name, destinations: [] })) });
    const error: unknown = await sender
      .identify({ userId: "u1" }, { source: "other" })
      .catch((error: unknown) => error);
    expect(error).toMatchObject({
      code: "ERR_UNKNOWN_SOURCE",
      message: expect.stringMatching(/`source`: "shop-0", .*"shop-19", and 1980 more\.$/),
    });
  });

  it("a call of exactly 32 KiB is accepted, one byte more is not", async () => {
    const { sender } = await single();
    const size = (filler: string): number =>
      JSON.stringify({ type: "identify", userId: "u1", traits: { filler } }).length;
    const filler = "x".repeat(32_768 - size(""));
    await sender.identify({ userId: "u1", traits: { filler } });
    await expect(sender.identify({ userId: "u1", traits: { filler: `${filler}x` } })).rejects.toMatchObject({
      code: "ERR_CALL_TOO_LARGE",
    });
  });

  it("the id and the time that the sender fills in do not count, also for a page with merged traits", async () => {
    const { sender, receiver } = await single();
    const size = (filler: string): number =>
      JSON.stringify({ type: "page", userId: "u1", properties: { filler } }).length;
    const filler = "x".repeat(32_768 - size(""));
    await sender.page({ userId: "u1", traits: { filler } });
    await sender.idle();
    expect(receiver.received[0]?.message["properties"]).toEqual({ filler });
    await expect(sender.page({ userId: "u1", traits: { filler: `${filler}x` } })).rejects.toMatchObject({
      code: "ERR_CALL_TOO_LARGE",
    });
    for (const given of [{ messageId: "m1" }, { timestamp: "2026-11-20T20:00:00.000Z" }]) {
      await expect(sender.page({ userId: "u1", ...given, traits: { filler } })).rejects.toMatchObject({
        code: "ERR_CALL_TOO_LARGE",
      });
    }
  });

  it("a callback, which would never run, is a TypeError that says what to await", async () => {
    const { sender, receiver } = await single();
    const callback = (): void => {};
    await expect(sender.track({ userId: "u1", event: "e" }, invalid(callback))).rejects.toThrow(
      new TypeError(
        "track() takes no callback. Await the promise that it returns for the receipt, and receipt.settled() for the deliveries.",
      ),
    );
    await expect(sender.syncAudience("VIP", ["a"], invalid(callback))).rejects.toThrow(
      "syncAudience() takes no callback",
    );
    await sender.idle();
    expect(receiver.received).toEqual([]);
  });

  it("a closed sender accepts no calls", async () => {
    const { sender } = await single();
    const receipt = await sender.track({ userId: "u1", event: "e" });
    await sender.close();
    await expect(receipt.settled()).rejects.toBeInstanceOf(SenderClosedError);
    await expect(sender.track({ userId: "u1", event: "e" })).rejects.toBeInstanceOf(SenderClosedError);
    await expect(sender.idle()).rejects.toBeInstanceOf(SenderClosedError);
  });
});
