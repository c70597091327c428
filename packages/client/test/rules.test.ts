import { ValidationError, VERSION, type Analytics } from "@countersign/client";
import { expect, it } from "vitest";
import { createBench, type Bench } from "./support/bench.ts";

interface Row {
  readonly rule: string;
  readonly check: (bench: Bench) => unknown;
}

/** Runs one call and returns the message as the service got it. */
async function sent({ analytics, service }: Bench, record: (client: Analytics) => unknown): Promise<object> {
  record(analytics);
  await analytics.flush();
  const message = service.messages.at(-1);
  if (!message) throw new Error("Nothing was sent.");
  return message;
}

function refuses(field: string, message: string, record: (client: Analytics) => unknown): Row["check"] {
  return ({ analytics }) => {
    expect(() => record(analytics)).toThrow(
      expect.objectContaining({ name: "ValidationError", field, message }),
    );
    expect(analytics.counts).toEqual({ delivered: 0, failed: 0, dropped: 0, pending: 0 });
  };
}

function sends(record: (client: Analytics) => unknown, expected: object): Row["check"] {
  return async (bench) => expect(await sent(bench, record)).toMatchObject(expected);
}

/** Records what fills one request exactly, and so many bytes more; returns the sizes of the requests. */
async function sizesOfFullBatch(extra: number): Promise<number[]> {
  const { analytics, service } = createBench({ flushAt: 1_000, ids: () => "batch" });
  const record = (n: number, length: number): void => {
    analytics.identify({ userId: USER_ID, messageId: `m${n}`, traits: { bio: "x".repeat(length) } });
  };
  const envelope =
    `{"batch":[],"context":{"library":{"name":"@countersign/client","version":"${VERSION}"}},` +
    `"messageId":"batch","sentAt":"2026-01-01T00:00:00.000Z"}`;
  const empty =
    '{"type":"identify","messageId":"m0","timestamp":"2026-01-01T00:00:00.000Z","userId":"u1","traits":{"bio":""}}';
  // Messages of 10 KB, their commas, and a last one that fills what is left.
  const room = 512_000 - envelope.length;
  const each = 10_000;
  const count = Math.floor((room + 1) / (each + 1)) - 1;
  for (let n = 0; n < count; n += 1) record(n, each - empty.length - (String(n).length - 1));
  record(99, room - count * (each + 1) - empty.length - 1 + extra);
  await analytics.flush();
  return service.requests.map((request) => request.bytes);
}

const EITHER = "You must pass either an 'anonymousId' or 'userId'.";
const USER_ID = "u1";
// What the types refuse, for callers that have none.
const call = (value: object): never => value as never;

const rows: readonly Row[] = [
  // 2.3, required fields, in the Go library's words
  { rule: "2.3 identify needs an identity", check: refuses("userId", EITHER, (c) => c.identify(call({}))) },
  {
    rule: "2.3 identify takes an anonymousId alone",
    check: sends((c) => c.identify({ anonymousId: "a1" }), { type: "identify", anonymousId: "a1" }),
  },
  {
    rule: "2.3 identify carries traits",
    check: sends((c) => c.identify({ userId: USER_ID, traits: { plan: "team", seats: 3 } }), {
      userId: USER_ID,
      traits: { plan: "team", seats: 3 },
    }),
  },
  {
    rule: "2.3 track needs an event",
    check: refuses("event", "You must pass 'event'.", (c) => c.track(call({ userId: USER_ID }))),
  },
  {
    rule: "2.3 an empty event is a missing one",
    check: refuses("event", "You must pass 'event'.", (c) => c.track({ userId: USER_ID, event: "" })),
  },
  {
    rule: "2.3 the event is asked for before the identity",
    check: refuses("event", "You must pass 'event'.", (c) => c.track(call({}))),
  },
  {
    rule: "2.3 track needs an identity",
    check: refuses("userId", EITHER, (c) => c.track(call({ event: "E" }))),
  },
  {
    rule: "2.3 track carries event and properties",
    check: sends((c) => c.track({ userId: USER_ID, event: "E", properties: { total: 1 } }), {
      type: "track",
      event: "E",
      properties: { total: 1 },
    }),
  },
  {
    rule: "2.3 page needs an identity",
    check: refuses("userId", EITHER, (c) => c.page(call({ name: "Home" }))),
  },
  {
    rule: "2.3 page carries name and category",
    check: sends((c) => c.page({ userId: USER_ID, name: "Go", category: "Docs" }), {
      type: "page",
      name: "Go",
      category: "Docs",
    }),
  },
  {
    rule: "2.3 page traits are sent as properties",
    check: async (bench) => {
      const traits = { url: "https://e.com/a", title: "A", referrer: "r", path: "/a", custom: 1 };
      const message = await sent(bench, (c) => c.page({ userId: USER_ID, traits }));
      expect(message).toMatchObject({ properties: traits });
      expect(message).not.toHaveProperty("traits");
    },
  },
  {
    rule: "2.3 page properties win over page traits",
    check: sends(
      (c) => c.page({ userId: USER_ID, traits: { path: "/a", title: "A" }, properties: { path: "/b" } }),
      {
        properties: { path: "/b", title: "A" },
      },
    ),
  },
  {
    rule: "2.3 screen needs an identity",
    check: refuses("userId", EITHER, (c) => c.screen(call({ name: "Cart" }))),
  },
  {
    rule: "2.2 screen carries its name",
    check: sends((c) => c.screen({ userId: USER_ID, name: "Cart" }), { type: "screen", name: "Cart" }),
  },
  {
    rule: "2.3 group needs a groupId",
    check: refuses("groupId", "You must pass a 'groupId'.", (c) => c.group(call({ userId: USER_ID }))),
  },
  {
    rule: "2.3 group needs an identity",
    check: refuses("userId", EITHER, (c) => c.group(call({ groupId: "g1" }))),
  },
  {
    rule: "2.3 group carries groupId and traits",
    check: sends((c) => c.group({ userId: USER_ID, groupId: "g1", traits: { name: "Initech" } }), {
      type: "group",
      groupId: "g1",
      traits: { name: "Initech" },
    }),
  },
  {
    rule: "2.3 alias needs a userId",
    check: refuses("userId", "You must pass a 'userId'.", (c) =>
      c.alias(call({ previousId: "a1", anonymousId: "a1" })),
    ),
  },
  {
    rule: "2.3 alias needs a previousId",
    check: refuses("previousId", "You must pass a 'previousId'.", (c) => c.alias(call({ userId: USER_ID }))),
  },
  {
    rule: "2.3 alias carries both ids",
    check: sends((c) => c.alias({ userId: USER_ID, previousId: "a1" }), {
      type: "alias",
      userId: USER_ID,
      previousId: "a1",
    }),
  },
  ...["userId", "anonymousId"].map((field) => {
    return {
      rule: `2.3 an empty ${field} is a missing one`,
      check: refuses("userId", EITHER, (c) => c.identify(call({ [field]: "" }))),
    };
  }),
  {
    rule: "2.3 a null field is an absent one",
    check: async (bench) => {
      const message = await sent(bench, (c) =>
        c.identify({ userId: USER_ID, anonymousId: null, traits: null, context: null }),
      );
      expect(Object.keys(message)).toEqual(["type", "messageId", "timestamp", "userId"]);
    },
  },
  {
    rule: "2.3 context goes with the call",
    check: sends((c) => c.page({ userId: USER_ID, context: { ip: "192.0.2.1" } }), {
      context: { ip: "192.0.2.1" },
    }),
  },

  // 4.2
  {
    rule: "4.2.1 a call makes no request itself",
    check: async ({ analytics, service }) => {
      for (let n = 0; n < 20; n += 1) analytics.identify({ userId: USER_ID });
      expect(service.requests).toHaveLength(0);
      await analytics.flush();
      expect(service.requests).toHaveLength(1);
    },
  },
  {
    rule: "4.2.2 nothing is sent at 19 messages, all at 20",
    check: async ({ analytics, service, clock }) => {
      for (let n = 0; n < 19; n += 1) analytics.identify({ userId: USER_ID });
      await clock.advance(4_999);
      expect(service.requests).toHaveLength(0);
      analytics.identify({ userId: USER_ID });
      await clock.advance(0);
      expect(service.requests.map((request) => request.batch.length)).toEqual([20]);
    },
  },
  {
    rule: "4.2.2 the 21st message is not part of that flush",
    check: async ({ analytics, service, clock }) => {
      for (let n = 0; n < 21; n += 1) analytics.identify({ userId: USER_ID });
      await clock.advance(0);
      expect(service.requests.map((request) => request.batch.length)).toEqual([20]);
      await clock.advance(5_000);
      expect(service.requests.map((request) => request.batch.length)).toEqual([20, 1]);
    },
  },
  {
    rule: "4.2.2 a flush comes 5 s after the last one",
    check: async ({ analytics, service, clock }) => {
      await clock.advance(3_000);
      await analytics.flush();
      await clock.advance(1_000);
      analytics.identify({ userId: USER_ID });
      await clock.advance(3_999);
      expect(service.requests).toHaveLength(0);
      await clock.advance(1);
      expect(service.requests).toHaveLength(1);
    },
  },
  {
    rule: "4.2.2 an interval with nothing queued passes, and nothing is sent in it",
    check: async ({ analytics, service, clock }) => {
      await clock.advance(12_000);
      expect(service.requests).toHaveLength(0);
      expect(clock.scheduled).toBe(0);
      analytics.identify({ userId: USER_ID });
      await clock.advance(2_999);
      expect(service.requests).toHaveLength(0);
      await clock.advance(1);
      expect(service.requests).toHaveLength(1);
    },
  },
  {
    rule: "4.2.2 flush() with nothing queued sends nothing",
    check: async ({ analytics, service }) => {
      expect(await analytics.flush()).toEqual({ delivered: 0, failed: 0, dropped: 0, pending: 0 });
      expect(service.requests).toHaveLength(0);
    },
  },
  ...(["flushAt", "size"] as const).map((name) => {
    return {
      rule: `4.2.3 ${name} 1 sends each message by itself, at once`,
      check: async () => {
        const { analytics, service, clock } = createBench({ [name]: 1 });
        for (let n = 0; n < 9; n += 1) analytics.identify({ userId: USER_ID });
        await clock.advance(0);
        // oxlint-disable-next-line vitest/no-standalone-expect
        expect(service.requests.map((request) => request.batch.length)).toEqual(
          Array.from({ length: 9 }, () => 1),
        );
      },
    };
  }),
  {
    rule: "5.3 the write key is the user name of Basic authentication",
    check: async (bench) => {
      await sent(bench, (c) => c.identify({ userId: USER_ID }));
      const authorization = `Basic ${Buffer.from("WRITE_KEY:").toString("base64")}`;
      expect(bench.service.requests[0]?.headers).toMatchObject({ Authorization: authorization });
    },
  },
  {
    rule: "4.2 a batch names the library, its own id and when it was sent",
    check: async (bench) => {
      await sent(bench, (c) => c.identify({ userId: USER_ID }));
      expect(bench.service.requests[0]).toMatchObject({
        context: { library: { name: "@countersign/client", version: VERSION } },
        messageId: "id-2",
        sentAt: "2026-01-01T00:00:00.000Z",
      });
    },
  },
  {
    rule: "4.2 the endpoint is asked at /v1/batch",
    check: async (bench) => {
      await sent(bench, (c) => c.identify({ userId: USER_ID }));
      expect(bench.service.requests[0]?.url).toBe("https://api.segment.io/v1/batch");
    },
  },

  // 6
  ...(["identify", "track", "page", "screen", "group", "alias"] as const).map((type) => {
    const integrations = { All: false, Webhooks: true, "Google Analytics": { clientId: "c1" } };
    const fields = { userId: USER_ID, event: "E", groupId: "g1", previousId: "a1" };
    const wants = { track: ["event"], group: ["groupId"], alias: ["previousId"] }[type as "track"] ?? [];
    const own = Object.fromEntries(["userId", ...wants].map((name) => [name, fields[name as "userId"]]));
    return {
      rule: `6 ${type} takes integrations as they are, names and case untouched`,
      check: sends((c) => c[type](call({ ...own, integrations })), { type, integrations }),
    };
  }),
  {
    rule: "6 integrations are on or off",
    check: refuses(
      "integrations.Webhooks",
      "'integrations.Webhooks' must be true, false or an object, not \"no\".",
      (c) => c.identify(call({ userId: USER_ID, integrations: { Webhooks: "no" } })),
    ),
  },
  {
    rule: "6 a timestamp imports the past",
    check: sends(
      (c) => c.track({ userId: USER_ID, event: "E", timestamp: new Date("2012-02-29T10:00:00+02:00") }),
      {
        timestamp: "2012-02-29T08:00:00.000Z",
      },
    ),
  },
  {
    rule: "6 without a timestamp the time of the call is sent, for the service to correct by sentAt",
    check: async ({ analytics, service, clock }) => {
      await clock.advance(1_000);
      analytics.identify({ userId: USER_ID });
      await clock.advance(4_000);
      expect(service.requests[0]).toMatchObject({
        sentAt: "2026-01-01T00:00:05.000Z",
        batch: [{ timestamp: "2026-01-01T00:00:01.000Z" }],
      });
    },
  },

  // 8
  {
    rule: "8 a call of 32,768 bytes is sent, and one of 32,769 is refused",
    check: async (bench) => {
      const message = await sent(bench, (c) =>
        c.identify({ userId: USER_ID, traits: { bio: "" }, messageId: "m1" }),
      );
      const room = 32_768 - JSON.stringify(message).length;
      await sent(bench, (c) =>
        c.identify({ userId: USER_ID, traits: { bio: "x".repeat(room) }, messageId: "m2" }),
      );
      expect(JSON.stringify(bench.service.messages.at(-1))).toHaveLength(32_768);
      expect(() => {
        bench.analytics.identify({ userId: USER_ID, traits: { bio: "x".repeat(room + 1) }, messageId: "m3" });
      }).toThrow(ValidationError);
    },
  },
  {
    rule: "8 a batch has at most 512,000 bytes, and uses them",
    check: async () => {
      const { analytics, service } = createBench({ flushAt: 1_000 });
      for (let n = 0; n < 64; n += 1)
        analytics.identify({ userId: USER_ID, traits: { bio: "€".repeat(3_000) } });
      await analytics.flush();
      const sizes = service.requests.map((request) => request.bytes);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(512_000);
      expect(sizes[0]).toBeGreaterThan(512_000 - 10_000);
      expect(service.messages).toHaveLength(64);
    },
  },
  {
    rule: "8 a batch of exactly 512,000 bytes is one request, and one byte more is two",
    check: async () => {
      expect(await sizesOfFullBatch(0)).toEqual([512_000]);
      expect(await sizesOfFullBatch(1)).toHaveLength(2);
    },
  },
  {
    rule: "8 a batch has at most 2,500 messages",
    check: async () => {
      const { analytics, service } = createBench({ flushAt: 2_500 });
      for (let n = 0; n < 2_600; n += 1) analytics.alias({ userId: USER_ID, previousId: "a" });
      await analytics.flush();
      expect(service.requests.map((request) => request.batch.length)).toEqual([2_500, 100]);
    },
  },
  {
    rule: "8 as many bytes as a request may have are sent without waiting for 20 messages",
    check: async () => {
      const { analytics, service, clock } = createBench({ flushAt: 100 });
      for (let n = 0; n < 16; n += 1)
        analytics.identify({ userId: USER_ID, traits: { bio: "x".repeat(32_500) } });
      await clock.advance(0);
      expect(service.requests.length).toBeGreaterThan(0);
    },
  },
];

// Every row's check asserts; the linter does not follow it there.
// oxlint-disable-next-line vitest/expect-expect
it.each(rows)("$rule", async ({ check }) => {
  const bench = createBench();
  await check(bench);
});
