import { virtualClock } from "@countersign/protocol";
import { createServer, type CountersignServer, type LiveEvent } from "@countersign/server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SECRET, startReceiver, type Receiver } from "../support/receiver.ts";

let server: CountersignServer;
let receiver: Receiver;
const events: LiveEvent[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  const clock = virtualClock(new Date("2026-06-01T12:00:00.000Z"));
  server = await createServer({ to: receiver.url, secret: SECRET, port: 0, clock });
  server.subscribe((event) => events.push(event));
});

afterAll(async () => {
  await server.close();
  await receiver.close();
});

beforeEach(() => {
  receiver.webhooks.splice(0);
  events.splice(0);
});

/** Sends JSON text exactly as it is, and returns what was forwarded. */
async function forwarded(path: string, json: string, headers = {}): Promise<Record<string, unknown>[]> {
  await answered(path, json, headers);
  await server.sender.idle();
  return receiver.webhooks as unknown as Record<string, unknown>[];
}

async function answered(path: string, json: string, headers = {}): Promise<Record<string, unknown>> {
  const body = json.replace(/^\{/, '{"writeKey":"any",');
  const response = await fetch(`${server.url}/v1/${path}`, { method: "POST", body, headers });
  return (await response.json()) as Record<string, unknown>;
}

describe("the time of a call", () => {
  it("an import of 2024 does not become now because its client names the time of the call too", async () => {
    const [message] = await forwarded(
      "track",
      '{"userId":"u","event":"E","timestamp":"2024-01-02T03:04:05.678Z","originalTimestamp":"2026-06-01T12:00:00.000Z"}',
    );
    expect(message?.["timestamp"]).toBe("2024-01-02T03:04:05.678Z");
  });

  it.each(["null", '""'])("originalTimestamp counts when timestamp is %s", async (none) => {
    const [message] = await forwarded(
      "track",
      `{"userId":"u","event":"E","timestamp":${none},"originalTimestamp":"2024-01-02T03:04:05.678Z"}`,
    );
    expect(message?.["timestamp"]).toBe("2024-01-02T03:04:05.678Z");
  });
});

describe("integers that JavaScript cannot hold", () => {
  it("two users whose ids differ in the last digit do not become one", async () => {
    const messages = await forwarded(
      "batch",
      `{"batch":[
        {"type":"track","userId":9007199254740993,"event":"E","messageId":"a"},
        {"type":"track","userId": 9007199254740992 ,"event":"E","messageId":"b"},
        {"type":"track","anonymousId":-12345678901234567890,"event":"E","messageId":"c"},
        {"type":"group","userId":"u","groupId":123456789012345678901234,"messageId":"d"},
        {"type":"alias","userId":9007199254740995,"previousId":9007199254740997,"messageId":9007199254740999}]}`,
    );
    const byId = Object.fromEntries(messages.map((message) => [message["messageId"], message]));
    expect(byId["a"]).toMatchObject({ userId: "9007199254740993" });
    expect(byId["b"]).toMatchObject({ userId: "9007199254740992" });
    expect(byId["c"]).toMatchObject({ anonymousId: "-12345678901234567890" });
    expect(byId["d"]).toMatchObject({ groupId: "123456789012345678901234" });
    expect(byId["9007199254740999"]).toMatchObject({
      "User ID": "9007199254740995",
      "Previous ID": "9007199254740997",
    });
    expect(events.filter(({ event }) => event === "warned")).toEqual([]);
  });

  it("elsewhere the number goes out as JavaScript reads it, with a warning that names its path", async () => {
    const messages = await forwarded(
      "batch",
      `{"context":{"account":9007199254740993},"batch":[
        {"type":"track","userId":"u","event":"Fine","messageId":"fine","properties":{"id":9007199254740991,"even":9007199254740992,"rounded":1152921504606847000,"text":":9007199254740993"}},
        {"type":"track","userId":"u","event":"Big","messageId":"big","properties":{"a":[{"n":9007199254740993}],"m":-9007199254740995}}]}`,
    );
    const byId = Object.fromEntries(messages.map((message) => [message["messageId"], message]));
    expect(byId["fine"]).toMatchObject({
      properties: {
        id: 9_007_199_254_740_991,
        even: 9_007_199_254_740_992,
        rounded: 2 ** 60,
        text: ":9007199254740993",
      },
    });
    expect(byId["big"]).toMatchObject({
      properties: { a: [{ n: 9_007_199_254_740_992 }], m: -9_007_199_254_740_996 },
      context: { account: 9_007_199_254_740_992 },
    });
    const warnings = [
      { reason: "unsafe_integer", index: 0, type: "track", messageId: "fine", paths: ["context.account"] },
      {
        reason: "unsafe_integer",
        index: 1,
        type: "track",
        messageId: "big",
        paths: ["context.account", "properties.m", "properties.a.0.n"],
      },
    ];
    expect(events.filter(({ event }) => event === "warned")).toMatchObject(
      warnings.map((warning) => ({ source: "default", warning })),
    );
    const listed = await fetch(`${server.url}/api/warnings`);
    expect(await listed.json()).toMatchObject(warnings.toReversed());
  });

  it("warns of a number that JavaScript reads as infinite, since it is forwarded as null, and keeps an id as it is written", async () => {
    const json = String.raw`{"type":"track","userId":1e400,"event":"E","properties":{"n":-1E+309,"most":1e308,"text":"1e400"}}`;
    await answered("track", json);
    await server.sender.idle();
    expect(receiver.webhooks).toMatchObject([
      { userId: "1e400", properties: { n: null, most: 1e308, text: "1e400" } },
    ]);
    const warned = await fetch(`${server.url}/api/warnings`);
    const [newest] = (await warned.json()) as readonly unknown[];
    expect(newest).toMatchObject({ reason: "unsafe_integer", paths: ["properties.n"] });
  });

  it.each(["9007199254740993", "1e400"])(
    "strict mode refuses the message with %s, and takes the others of its batch",
    async (number) => {
      const json = `{"batch":[{"type":"track","userId":1,"event":"E","properties":{"n":${number}}},{"type":"track","userId":9007199254740993,"event":"E"}]}`;
      const answer = await answered("batch", json, { "x-strict-mode": "1" });
      expect(answer).toMatchObject({
        success: false,
        code: "unsafe_integer",
        rejected: [{ index: 0, reason: "unsafe_integer", detail: expect.stringContaining("`properties.n`") }],
      });
      await server.sender.idle();
      expect(receiver.webhooks).toMatchObject([{ userId: "9007199254740993" }]);
    },
  );

  it("a name such as __proto__ changes only itself", async () => {
    const [message] = await forwarded(
      "track",
      '{"userId":"u","event":"E","properties":{"__proto__":9007199254740993,"n":1}}',
    );
    expect(JSON.stringify(message?.["properties"])).toBe('{"__proto__":9007199254740992,"n":1}');
  });

  it("a value that nests a hundred thousand levels does not overflow the stack", async () => {
    const deep = `${"[".repeat(100_000)}9007199254740993${"]".repeat(100_000)}`;
    const json = `{"batch":[{"type":"track","userId":"u","event":"E","properties":{"d":${deep}}},{"type":"track","userId":9007199254740993,"event":"E"}]}`;
    expect(await forwarded("batch", json)).toMatchObject([{ userId: "9007199254740993" }]);
  });
});

describe("empty objects of PHP", () => {
  it.each(["properties", "context", "integrations"])("%s: [] does not lose the message", async (field) => {
    const [message] = await forwarded("track", `{"userId":"u","event":"E","${field}":[]}`);
    expect(message).toMatchObject({ event: "E", properties: {}, context: {} });
  });

  it("traits: [] and context.traits: [] do not lose the message", async () => {
    const [message] = await forwarded("identify", '{"userId":"u","traits":[],"context":{"traits":[]}}');
    expect(message).toMatchObject({ traits: {} });
  });

  it("a list with content is still refused, naming the field", async () => {
    const json = '{"userId":"u","event":"E","properties":[1]}';
    const answer = await answered("track", json, { "x-strict-mode": "1" });
    expect(answer).toMatchObject({ code: "invalid_field", message: "`properties` must be an object." });
  });
});

describe("opting out", () => {
  it.each([
    ['{"integrations":{"all":false},"userId":"u","event":"E"}', 0],
    ['{"integrations":{"all":false,"Webhooks":true},"userId":"u","event":"E"}', 1],
    ['{"integrations":{"all":false,"webhooks":true},"userId":"u","event":"E"}', 0],
    ['{"integrations":{"All":true,"all":false},"userId":"u","event":"E"}', 1],
    ['{"integrations":{"all":true},"userId":"u","event":"E"}', 1],
    ['{"integrations":{"ALL":false},"userId":"u","event":"E"}', 1],
  ])("%s is forwarded %i times", async (json, times) => {
    expect(await forwarded("track", json)).toHaveLength(times);
  });

  it("counts for every message of a batch that does not opt in", async () => {
    const json =
      '{"integrations":{"all":false},"batch":[{"type":"track","userId":"u","event":"Out"},{"type":"track","userId":"u","event":"In","integrations":{"all":true}}]}';
    expect(await forwarded("batch", json)).toMatchObject([{ event: "In" }]);
  });
});

describe("traits in the context", () => {
  it.each(["", '"traits":{},', '"traits":null,'])(
    "become those of an identify call that has none: %s",
    async (own) => {
      const [message] = await forwarded(
        "identify",
        `{${own}"userId":"u","context":{"traits":{"a":1},"ip":"::1"}}`,
      );
      expect(message).toMatchObject({ traits: { a: 1 }, context: { traits: { a: 1 }, ip: "::1" } });
    },
  );

  it("do not replace those of the call", async () => {
    const [message] = await forwarded(
      "identify",
      '{"userId":"u","traits":{"b":2},"context":{"traits":{"a":1}}}',
    );
    expect(message?.["traits"]).toEqual({ b: 2 });
  });

  it("are not added to a group, which is not the user", async () => {
    const [message] = await forwarded("group", '{"userId":"u","groupId":"g","context":{"traits":{"a":1}}}');
    expect(message?.["traits"]).toEqual({});
  });
});

describe("how a call came here", () => {
  it("is forwarded by a destination that includes it, and by no other", async () => {
    const destination = `${server.url}/api/sources/default/destinations/including`;
    const includeFields = ["receivedAt", "sentAt", "originalTimestamp", "integrations", "channel"];
    const body = JSON.stringify({
      endpoints: [{ url: `${receiver.url}?all` }],
      secret: SECRET,
      includeFields,
    });
    const headers = { "content-type": "application/json" };
    const put = await fetch(destination, { method: "PUT", body, headers });
    expect(await put.json()).toMatchObject({ destinations: [{ name: "webhooks" }, { includeFields }] });

    const messages = await forwarded(
      "batch",
      '{"sentAt":"2026-06-01T13:00:00Z","batch":[{"type":"track","userId":"u","event":"E","timestamp":"2026-06-01T12:59:59Z","originalTimestamp":"2026-06-01T12:59:58Z","channel":"web","integrations":{"all":true}}]}',
    );
    await fetch(destination, { method: "DELETE" });

    const [documented, including] = messages.toSorted(
      (a, b) => Object.keys(a).length - Object.keys(b).length,
    );
    expect(including).toEqual({
      ...documented,
      integrations: { All: true },
      channel: "web",
      originalTimestamp: "2026-06-01T12:59:58.000Z",
      sentAt: "2026-06-01T13:00:00.000Z",
      receivedAt: "2026-06-01T12:00:00.000Z",
    });
    expect(documented).toMatchObject({ timestamp: "2026-06-01T11:59:59.000Z" });
    expect(documented).not.toHaveProperty("sentAt");
  });
});
