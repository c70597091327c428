import type { JudgedCall } from "@countersign/sender";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { interpretRequest, type Interpretation } from "../../src/ingest/interpret-request.ts";
import type { IngestedCall } from "../../src/ingest/normalize-call.ts";
import type { Rejection } from "../../src/ingest/rejections.ts";

const receivedAt = Date.UTC(2026, 0, 1, 12);
const now = new Date(receivedAt).toISOString();

type ReadCall = JudgedCall & Pick<IngestedCall, "formerKey">;
type Read = { calls: readonly ReadCall[]; rejections: readonly Rejection[] };

async function accepted(reading: Promise<Interpretation>): Promise<Read> {
  const read = await reading;
  if (!read.ok) throw new Error(`refused: ${read.refusal.code}`);
  return { ...read, calls: read.calls.map(givenOf) };
}

/** The fields that a call has. How it came here is the same for all of these; the tests of client-meaning look at that. */
function givenOf({ call: { origin: _, ...call }, formerKey }: IngestedCall): ReadCall {
  return Object.fromEntries(
    Object.entries({ ...call, formerKey }).filter(([, value]) => value !== undefined),
  ) as unknown as ReadCall;
}

const batch = (body: object): Promise<Read> =>
  accepted(
    interpretRequest({ kind: "batch", body: JSON.parse(JSON.stringify(body)), receivedAt, ip: "10.1.2.3" }),
  );

const one = async (message: object): Promise<ReadCall | Rejection> => {
  const { calls, rejections } = await batch({ batch: [message] });
  const verdict = calls[0] ?? rejections[0];
  if (!verdict) throw new Error("no verdict");
  return verdict;
};

const reasonOf = async (message: object): Promise<string | undefined> => {
  const verdict = await one(message);
  return "reason" in verdict ? verdict.reason : undefined;
};

const ipOf = async (context: object): Promise<unknown> => {
  const call = await one({ type: "identify", userId: "u", context });
  return "context" in call && (call.context as Readonly<Record<string, unknown>> | undefined)?.["ip"];
};

const size = (message: object): number => Buffer.byteLength(JSON.stringify(message));

const junk = (count: number): unknown => ({ batch: Array.from({ length: count }, () => ({})) });

describe("the messages of a batch", () => {
  it("reads what @segment/analytics-node sends", async () => {
    const { calls, rejections } = await batch({
      batch: [
        {
          timestamp: "2024-01-02T03:04:05.678Z",
          integrations: {},
          type: "identify",
          userId: "u1",
          traits: { email: "a@b.co" },
          context: { library: { name: "@segment/analytics-node", version: "3.1.0" } },
          messageId: "node-next-1",
          _metadata: { nodeVersion: "v20.20.2", jsRuntime: "node" },
        },
        {
          event: "Bought",
          type: "track",
          properties: { price: 1 },
          integrations: { All: false },
          anonymousId: "an1",
        },
        { type: "page", properties: { url: "x" }, category: "Docs", name: "Go", anonymousId: "an1" },
        { type: "screen", properties: {}, name: "Home", anonymousId: "an1" },
        { type: "group", traits: { name: "I" }, groupId: "g1", userId: "u1" },
        { type: "alias", previousId: "u1", userId: "u2" },
      ],
      writeKey: "WK123",
    });
    expect(rejections).toEqual([]);
    expect(calls).toEqual([
      {
        type: "identify",
        userId: "u1",
        messageId: "node-next-1",
        key: expect.stringMatching(/^node-next-1\.[\w-]{43}$/),
        formerKey: "node-next-1",
        traits: { email: "a@b.co" },
        integrations: {},
        context: { library: { name: "@segment/analytics-node", version: "3.1.0" } },
        timestamp: "2024-01-02T03:04:05.678Z",
      },
      {
        type: "track",
        anonymousId: "an1",
        event: "Bought",
        properties: { price: 1 },
        integrations: { All: false },
        timestamp: now,
      },
      {
        type: "page",
        anonymousId: "an1",
        name: "Go",
        category: "Docs",
        properties: { url: "x" },
        timestamp: now,
      },
      { type: "screen", anonymousId: "an1", name: "Home", properties: {}, timestamp: now },
      { type: "group", userId: "u1", groupId: "g1", traits: { name: "I" }, timestamp: now },
      { type: "alias", userId: "u2", previousId: "u1", timestamp: now },
    ]);
  });

  it("merges context and integrations of the batch, the item's own keys winning", async () => {
    const { calls } = await batch({
      context: { library: "batch", app: "shop" },
      integrations: { All: false, Webhooks: true },
      batch: [
        { type: "identify", userId: "u", context: { library: "item" }, integrations: { Webhooks: false } },
        { type: "identify", userId: "u", context: null, integrations: null },
      ],
    });
    expect(calls[0]?.context).toEqual({ library: "item", app: "shop" });
    expect(calls[0]?.integrations).toEqual({ All: false, Webhooks: false });
    expect(calls[1]?.context).toEqual({ library: "batch", app: "shop" });
  });

  it("copies context and integrations of the batch for no message that has none of its own", async () => {
    const item = { type: "identify", userId: "u" };
    const { calls } = await batch({
      context: { app: "shop", direct: true },
      integrations: { All: false },
      batch: [item, item, { ...item, context: { direct: false } }, { ...item, context: { ip: "8.8.8.8" } }],
    });
    expect(calls[0]?.context).toEqual({ app: "shop", direct: true, ip: "10.1.2.3" });
    expect(calls[1]?.context).toBe(calls[0]?.context);
    expect(calls[1]?.integrations).toBe(calls[0]?.integrations);
    expect(calls[2]?.context).toEqual({ app: "shop", direct: false });
    expect(calls[3]?.context).toEqual({ app: "shop", direct: true, ip: "8.8.8.8" });
  });

  it("keeps __proto__ as an own key, in an item and in the batch's context", async () => {
    const body: unknown = JSON.parse(
      '{"context":{"__proto__":{"polluted":1}},"batch":[{"type":"track","event":"e","userId":"u","properties":{"__proto__":{"polluted":1},"constructor":2}}]}',
    );
    const { calls } = await accepted(interpretRequest({ kind: "batch", body, receivedAt }));
    expect(Object.keys(calls[0]?.properties ?? {})).toEqual(["__proto__", "constructor"]);
    expect(Object.keys(calls[0]?.context ?? {})).toEqual(["__proto__"]);
    expect("polluted" in {}).toBe(false);
  });

  it("treats a null field as an absent one, everywhere", async () => {
    const nulls = Object.fromEntries(
      [
        "anonymousId",
        "context",
        "integrations",
        "properties",
        "traits",
        "timestamp",
        "messageId",
        "name",
        "sentAt",
      ].map((field) => [field, null]),
    );
    expect(await one({ ...nulls, type: "track", event: "e", userId: "u" })).toEqual({
      type: "track",
      userId: "u",
      event: "e",
      timestamp: now,
    });
    expect(await reasonOf({ ...nulls, type: null, userId: "u" })).toBe("missing_type");
    expect((await batch({ batch: null })).rejections[0]?.reason).toBe("no_batch");
    expect((await batch({ batch: [null] })).rejections[0]?.reason).toBe("not_an_object");
  });

  it("keeps a null inside properties and traits", async () => {
    expect(await one({ type: "track", event: "e", userId: "u", properties: { price: null } })).toMatchObject({
      properties: { price: null },
    });
  });

  it("corrects the clock by the batch's sentAt, an older client's timestamp, or the message's own sentAt", async () => {
    const message = { type: "identify", userId: "u", timestamp: "2026-01-01T13:00:00.000Z" };
    const sentAt = "2026-01-01T13:00:10.000+0000";
    const corrected = "2026-01-01T11:59:50.000Z";
    expect((await batch({ sentAt, batch: [message] })).calls[0]?.timestamp).toBe(corrected);
    expect((await batch({ timestamp: sentAt, batch: [message] })).calls[0]?.timestamp).toBe(corrected);
    expect((await batch({ sentAt: now, batch: [{ ...message, sentAt }] })).calls[0]?.timestamp).toBe(
      corrected,
    );
    expect((await batch({ sentAt: "garbage", batch: [message] })).calls[0]?.timestamp).toBe(
      message.timestamp,
    );
  });

  it("prefers timestamp to originalTimestamp, and uses the server's time if both are missing", async () => {
    const timestamp = "2024-01-02T03:04:05.678901Z";
    expect(await one({ type: "identify", userId: "u", originalTimestamp: now, timestamp })).toMatchObject({
      timestamp: "2024-01-02T03:04:05.678Z",
    });
    expect(await one({ type: "identify", userId: "u", originalTimestamp: timestamp })).toMatchObject({
      timestamp: "2024-01-02T03:04:05.678Z",
    });
    expect(await one({ type: "identify", userId: "u", timestamp: "" })).toMatchObject({ timestamp: now });
  });

  it("fills context.ip from the connection only when context.direct is true and it is not there", async () => {
    expect(await ipOf({ direct: true })).toBe("10.1.2.3");
    expect(await ipOf({ direct: true, ip: null })).toBe("10.1.2.3");
    expect(await ipOf({ direct: true, ip: "8.8.8.8" })).toBe("8.8.8.8");
    expect(await ipOf({ direct: false })).toBeUndefined();
    expect(await ipOf({})).toBeUndefined();
  });

  it("takes a number as an identifier", async () => {
    expect(await one({ type: "group", userId: 42, groupId: 7 })).toMatchObject({
      userId: "42",
      groupId: "7",
    });
  });

  const keyOf = async (message: object): Promise<string | undefined> => {
    const call = await one(message);
    return "key" in call ? call.key : undefined;
  };

  it("knows a repeat by messageId, and without one by its place in a batch that has one", async () => {
    const item = { type: "identify", userId: "u" };
    const twice = [item, item, { ...item, messageId: "m1" }];
    const first = await batch({ messageId: "b1", batch: twice });
    const again = await batch({ messageId: "b1", batch: twice });
    const keys = first.calls.map(({ key }) => key);
    expect(new Set(keys).size).toBe(3);
    expect(again.calls.map(({ key }) => key)).toEqual(keys);
    expect(first.calls[0]?.messageId).toBeUndefined();
    expect(await one(item)).not.toHaveProperty("key");
    // An empty id is none: another batch with one would be taken for a repeat.
    const unnamed = await batch({ messageId: "", batch: [item] });
    expect(unnamed.calls[0]).not.toHaveProperty("key");
  });

  it("knows a repeat that a client has stamped again, and no other message with its id (ADR 19)", async () => {
    const message = { type: "track", userId: "u", messageId: "m1", event: "E", properties: { price: 1 } };
    const key = await keyOf(message);
    const times = { timestamp: now, originalTimestamp: now, sentAt: now };
    expect(await keyOf({ ...message, ...times, context: { device: {} }, integrations: {} })).toBe(key);
    const others = [{ properties: { price: 2 } }, { userId: "v" }, { event: "F" }, { type: "page" }];
    const keys = await Promise.all(others.map((other) => keyOf({ ...message, ...other })));
    expect(new Set([key, ...keys]).size).toBe(5);
  });

  it("never takes a message of a batch for the repeat of one whose messageId looks like its place", async () => {
    const { calls } = await batch({ messageId: "b1", batch: [{ type: "identify", userId: "u" }] });
    const other = await one({ type: "identify", userId: "u", messageId: "b1#0" });
    expect(calls.map(({ formerKey }) => formerKey)).toEqual(["b1#0"]);
    expect(other).toMatchObject({ formerKey: expect.stringMatching(/^b1#0#{96}$/) });
    expect(other).not.toMatchObject({ key: calls[0]?.key });
  });

  it("gives each message its own verdict, and names the place of a bad one", async () => {
    const good = { type: "identify", userId: "u", messageId: "good" };
    const { calls, rejections } = await batch({
      batch: [good, { userId: "u" }, 7, good, { type: "track", userId: "u" }],
    });
    expect(calls).toHaveLength(2);
    expect(rejections.map(({ index, reason }) => [index, reason])).toEqual([
      [1, "missing_type"],
      [2, "not_an_object"],
      [4, "missing_event"],
    ]);
  });

  it("gives each message its own verdict where Error is frozen: one that was rejected failed the whole batch", async () => {
    const limit = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit");
    onTestFinished(() => void Object.defineProperty(Error, "stackTraceLimit", limit ?? {}));
    Object.defineProperty(Error, "stackTraceLimit", { ...limit, writable: false });
    const { calls, rejections } = await batch({ batch: [7, { type: "identify", userId: "u" }] });
    expect(rejections.map(({ reason }) => reason)).toEqual(["not_an_object"]);
    expect(calls).toHaveLength(1);
  });

  it.each([
    ["missing_type", { userId: "u" }],
    ["unknown_type", { type: "delete", userId: "u" }],
    ["unknown_type", { type: "Track", userId: "u", event: "e" }],
    ["unknown_type", { type: { a: 1 }, userId: "u" }],
    ["no_user_anon_id", { type: "identify" }],
    ["no_user_anon_id", { type: "page", userId: "", anonymousId: "" }],
    ["missing_event", { type: "track", userId: "u" }],
    ["missing_event", { type: "track", userId: "u", event: "" }],
    ["missing_group_id", { type: "group", userId: "u" }],
    ["missing_user_id", { type: "alias", previousId: "p", anonymousId: "a" }],
    ["missing_previous_id", { type: "alias", userId: "u" }],
    ["invalid_field", { type: "identify", userId: ["u"] }],
    ["invalid_field", { type: "track", userId: "u", event: { a: 1 } }],
    ["invalid_field", { type: "identify", userId: "u", traits: [1] }],
    ["invalid_field", { type: "identify", userId: "u", context: "x" }],
    ["invalid_field", { type: "identify", userId: "u", integrations: true }],
    ["invalid_field", { type: "identify", userId: "u", messageId: true }],
    ["invalid_timestamp", { type: "identify", userId: "u", timestamp: "yesterday" }],
    ["invalid_timestamp", { type: "identify", userId: "u", timestamp: {} }],
    ["invalid_timestamp", { type: "identify", userId: "u", timestamp: "2024-02-30" }],
    ["message_id_too_long", { type: "identify", userId: "u", messageId: "m".repeat(100) }],
    ["message_too_large", { type: "identify", userId: "u", traits: { a: "é".repeat(16_384) } }],
  ])("rejects with %s: %j", async (reason, message) => {
    expect(await reasonOf(message)).toBe(reason);
  });

  it("rejects a number that is too large to be exact", async () => {
    const body: unknown = JSON.parse('{"userId":1e400,"event":"e"}');
    const { rejections } = await accepted(interpretRequest({ kind: "track", body, receivedAt }));
    expect(rejections.map(({ reason }) => reason)).toEqual(["invalid_field"]);
  });

  it("takes a message of exactly 32,768 bytes, and a messageId of 99 characters", async () => {
    const shell = { type: "identify", userId: "u", traits: { a: "" } };
    const full = { ...shell, traits: { a: "x".repeat(32_768 - size(shell)) } };
    expect(await reasonOf(full)).toBeUndefined();
    expect(await reasonOf({ ...full, userId: "uu" })).toBe("message_too_large");
    expect(await reasonOf({ type: "identify", userId: "u", messageId: "m".repeat(99) })).toBeUndefined();
  });

  it("rejects what nests too deeply, before anything recurses into it", async () => {
    const body: unknown = JSON.parse(
      `{"batch":[{"type":"identify","userId":"u","traits":${'{"a":'.repeat(80_000)}1${"}".repeat(80_000)}}]}`,
    );
    const { rejections } = await accepted(interpretRequest({ kind: "batch", body, receivedAt }));
    expect(rejections[0]?.reason).toBe("nested_too_deeply");
  });
});

describe("the context and integrations of a batch", () => {
  const shell = { context: { a: "" } };
  const full = { a: "x".repeat(32_768 - size(shell)) };
  const largest = { type: "identify", userId: "u", traits: { b: "" } };

  it("count by themselves, so that a call of 32,768 bytes arrives with a context of 32,768 bytes", async () => {
    const traits = { b: "x".repeat(32_768 - size(largest)) };
    const { calls, rejections } = await batch({ context: full, batch: [{ ...largest, traits }] });
    expect(rejections).toEqual([]);
    expect(calls).toMatchObject([{ traits, context: full }]);
  });

  it("do not make a message of more than 65,536 bytes, which receivers need not take", async () => {
    const context = { traits: { b: full.a.slice(10_000) } };
    const call = { type: "identify", userId: "u" };
    const { calls, rejections } = await batch({
      context,
      batch: [call, { ...call, context: { a: full.a.slice(1_000) } }],
    });
    expect(calls).toMatchObject([{ traits: context.traits, context }]);
    expect(rejections).toMatchObject([
      { index: 1, reason: "message_too_large", detail: expect.stringContaining("65,536") },
    ]);
  });

  it("are rejected with the whole batch when they are too large or nest too deeply", async () => {
    const tooLarge = { a: `${full.a}x` };
    expect((await batch({ context: tooLarge, batch: [largest, largest] })).rejections).toMatchObject([
      { reason: "message_too_large", detail: expect.stringContaining("of the batch") },
    ]);
    const deep = `${'{"a":'.repeat(80_000)}1${"}".repeat(80_000)}`;
    const body: unknown = JSON.parse(`{"context":${deep},"batch":[{"type":"identify","userId":"u"}]}`);
    const { rejections } = await accepted(interpretRequest({ kind: "batch", body, receivedAt }));
    expect(rejections.map(({ reason }) => reason)).toEqual(["nested_too_deeply"]);
  });

  it("cannot make a batch of 132 KB more than 8 MB of messages", async () => {
    const body = { context: full, batch: Array.from({ length: 2_500 }, () => largest) };
    expect(await interpretRequest({ kind: "batch", body, receivedAt })).toMatchObject({
      ok: false,
      refusal: { status: 400, code: "payload_too_large", detail: expect.stringContaining("smaller batches") },
    });
    // With the 512,000 bytes that the batch itself may have, 8 MiB: 2,500 times 3,150 bytes, and 1,600 or so.
    const ofBytes = (bytes: number): object => ({
      context: { a: "x".repeat(bytes - size(shell)) },
      batch: body.batch,
    });
    expect((await batch(ofBytes(3_150))).calls).toHaveLength(2_500);
    expect(await interpretRequest({ kind: "batch", body: ofBytes(3_151), receivedAt })).toMatchObject({
      ok: false,
    });
  });

  const many = (count: number, value: unknown): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
  const item = { type: "identify", userId: "u", context: { own: 1 }, integrations: { own: true } };

  it.each<[string, (size: number) => object]>([
    ["fields of a few bytes", (size) => ({ context: many(size, 1) })],
    ["short integrations", (size) => ({ integrations: many(size, true) })],
    ["traits in the context", (size) => ({ context: { traits: { a: "x".repeat(size) } } })],
  ])("cannot make a batch more than 8 MB of copies: %s", async (_, shared) => {
    const taken: number[] = [];
    for (let size = 1; size < 4_000; size *= 2) {
      const body = { ...shared(size), batch: Array.from({ length: 2_500 }, () => item) };
      const read = await interpretRequest({ kind: "batch", body, receivedAt });
      if (!read.ok) continue;
      const calls = read.calls.map(({ call: { context = {}, integrations = {}, traits } }) => {
        const copied = Object.keys(context).length + Object.keys(integrations).length;
        // The map of an object takes 64 bytes for each property, or more.
        return Math.max(copied * 64, Buffer.byteLength(JSON.stringify({ context, integrations, traits })));
      });
      taken.push(calls.reduce((sum, bytes) => sum + bytes, 0));
    }
    expect(taken.length).toBeGreaterThan(4);
    expect(Math.max(...taken)).toBeLessThan(8_388_608);
  });

  // A list in a list in a list takes a serialiser as long as a text of some hundred bytes.
  it.each<[string, (objects: number) => unknown]>([
    ["next to each other", (objects) => Array.from({ length: objects - 1 }, () => ({}))],
    ["in each other", (objects) => JSON.parse("[".repeat(objects) + "]".repeat(objects)) as unknown],
  ])("count each object and list %s as 64 bytes", async (_, shaped) => {
    const isTaken = async (objects: number): Promise<boolean> => {
      const messages = Array.from({ length: 2_500 }, () => item);
      const body = { context: { a: shaped(objects) }, batch: messages };
      return (await interpretRequest({ kind: "batch", body, receivedAt })).ok;
    };
    // With the field `a`, 49 times 64 bytes, 2,500 times.
    expect([await isTaken(48), await isTaken(49)]).toEqual([true, false]);
  });
});

describe("the messageId of a batch", () => {
  it("has the limit of any other, because each message without its own is known by it", async () => {
    const item = { type: "identify", userId: "u" };
    expect((await batch({ messageId: "b".repeat(99), batch: [item] })).calls).toHaveLength(1);
    expect((await batch({ messageId: "b".repeat(100), batch: [item, item] })).rejections).toMatchObject([
      { reason: "message_id_too_long", detail: expect.stringContaining("of the batch") },
    ]);
  });
});

describe("a request", () => {
  it("takes the type of a single call from the path, whatever the message says", async () => {
    const body = { type: "page", event: "e", userId: "u", writeKey: "k", sentAt: now };
    const { calls } = await accepted(interpretRequest({ kind: "track", body, receivedAt }));
    expect(calls).toEqual([{ type: "track", event: "e", userId: "u", timestamp: now }]);
  });

  it.each([null, 1, "text", true, [], [{ type: "identify", userId: "u" }]])(
    "keeps %j as a rejected message",
    async (body) => {
      expect(
        (await accepted(interpretRequest({ kind: "batch", body, receivedAt }))).rejections[0]?.reason,
      ).toBe("not_an_object");
      expect(
        (await accepted(interpretRequest({ kind: "track", body, receivedAt }))).rejections[0]?.reason,
      ).toBe("not_an_object");
    },
  );

  it("measures a call as it was recorded, without the write key and the time of sending", async () => {
    const call = { type: "identify", userId: "u", messageId: "m", timestamp: now, traits: { a: "" } };
    const traits = { a: "x".repeat(32_768 - size(call)) };
    const wire = {
      writeKey: "k".repeat(200),
      sentAt: now,
      _metadata: { jsRuntime: "node" },
      channel: "server",
    };
    const body = { ...call, ...wire, traits };
    expect((await accepted(interpretRequest({ kind: "identify", body, receivedAt }))).calls).toHaveLength(1);
    const larger = { ...body, userId: "uu" };
    expect(await interpretRequest({ kind: "identify", body: larger, receivedAt })).toMatchObject({
      ok: false,
      refusal: { code: "payload_too_large" },
    });
  });

  it("sends the traits of a page as its properties, and leaves out fields of other types", async () => {
    const page = {
      type: "page",
      userId: "u",
      traits: { url: "t", path: "/" },
      properties: { url: "p" },
      event: "e",
    };
    expect(await one(page)).toEqual({
      type: "page",
      userId: "u",
      properties: { url: "p", path: "/" },
      timestamp: now,
    });
  });

  it("lets other requests run while it checks a large batch", async () => {
    const properties = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`p${index}`, index]));
    const message = { type: "track", userId: "u", event: "e", properties };
    const body = { batch: Array.from({ length: 1_000 }, () => message) };
    let turns = 0;
    let judging = true;
    const count = (): void => {
      turns += 1;
      if (judging) setImmediate(count);
    };
    count();
    const { calls } = await accepted(interpretRequest({ kind: "batch", body, receivedAt }));
    judging = false;
    expect(calls).toHaveLength(1_000);
    expect(turns).toBeGreaterThan(5);
  });

  it("takes 2,500 messages and refuses 2,501", async () => {
    expect((await interpretRequest({ kind: "batch", body: junk(2_500), receivedAt })).ok).toBe(true);
    expect(await interpretRequest({ kind: "batch", body: junk(2_501), receivedAt })).toMatchObject({
      ok: false,
      refusal: { status: 400, message: "Exceed payload limit" },
    });
  });

  it("accounts for every message of any JSON at all", async () => {
    const kinds = ["identify", "track", "page", "screen", "group", "alias", "delete"];
    const item = fc.record(
      {
        type: fc.oneof(fc.constantFrom(...kinds), fc.jsonValue()),
        userId: fc.oneof(fc.string(), fc.jsonValue()),
        event: fc.jsonValue(),
        timestamp: fc.oneof(fc.jsonValue(), fc.string()),
        context: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(item, fc.jsonValue())), fc.jsonValue(), async (messages, sentAt) => {
        const { calls, rejections } = await batch({ batch: messages, sentAt });
        expect(calls.length + rejections.length).toBe(messages.length);
        for (const call of calls) expect(call.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      }),
    );
  });
});
