import { ValidationError, type Analytics } from "@countersign/client";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBench } from "./support/bench.ts";

const USER_ID = "u1";
// What the types refuse, for callers that have none.
const call = (value: unknown): never => value as never;

function refusal(record: (analytics: Analytics) => unknown): ValidationError {
  const { analytics } = createBench();
  try {
    record(analytics);
  } catch (error) {
    if (error instanceof ValidationError && analytics.counts.pending === 0) return error;
    throw error;
  }
  throw new Error("The call was recorded.");
}

const circular: { self?: unknown } = {};
circular.self = { items: [circular] };
const deep = (levels: number): object => {
  let value: object = {};
  for (let n = 0; n < levels; n += 1) value = { a: value };
  return value;
};
/** 2^40 paths through forty objects. */
const doubling = Array.from({ length: 40 }).reduce<object>((inner) => ({ a: inner, b: inner }), {});

describe("a call that cannot be recorded says which field and why", () => {
  it.each<[string, (analytics: Analytics) => unknown, string | undefined, RegExp]>([
    ["no argument", (c) => c.track(call(undefined)), undefined, /an object to track\(\), not undefined/],
    ["an array", (c) => c.track(call([])), undefined, /not an array/],
    ["a string", (c) => c.identify(call("u1")), undefined, /not a string/],
    [
      "a number as userId",
      (c) => c.identify(call({ userId: 7 })),
      "userId",
      /must be a string, not a number/,
    ],
    [
      "false as userId",
      (c) => c.identify(call({ userId: false })),
      "userId",
      /must be a string, not a boolean/,
    ],
    [
      "an object as event",
      (c) => c.track(call({ userId: USER_ID, event: {} })),
      "event",
      /must be a string, not an object/,
    ],
    [
      "a number as groupId",
      (c) => c.group(call({ userId: USER_ID, groupId: 0 })),
      "groupId",
      /must be a string/,
    ],
    [
      "an array as traits",
      (c) => c.identify({ userId: USER_ID, traits: [] }),
      "traits",
      /must be an object, not an array/,
    ],
    [
      "a string as properties",
      (c) => c.track(call({ userId: USER_ID, event: "E", properties: "x" })),
      "properties",
      /object/,
    ],
    [
      "a Date as traits",
      (c) => c.identify({ userId: USER_ID, traits: new Date(0) }),
      "traits",
      /must be an object/,
    ],
    [
      "a string as context",
      (c) => c.identify(call({ userId: USER_ID, context: "x" })),
      "context",
      /must be an object/,
    ],
    [
      "a list as integrations",
      (c) => c.identify(call({ userId: USER_ID, integrations: ["All"] })),
      "integrations",
      /object/,
    ],
    [
      "a misspelt field",
      (c) => c.track(call({ userId: USER_ID, event: "E", propertis: {} })),
      "propertis",
      /has no field/,
    ],
    [
      "another call's field",
      (c) => c.alias(call({ userId: USER_ID, previousId: "a", traits: {} })),
      "traits",
      /has no field/,
    ],
    [
      "a messageId of 100 characters",
      (c) => c.identify({ userId: USER_ID, messageId: "x".repeat(100) }),
      "messageId",
      /99/,
    ],
    ["circular", (c) => c.identify({ userId: USER_ID, traits: circular }), "traits", /circular/],
    [
      "501 levels, the call itself being the first",
      (c) => c.identify({ userId: USER_ID, traits: deep(499) }),
      "traits",
      /500 levels/,
    ],
    [
      "a BigInt",
      (c) => c.identify({ userId: USER_ID, traits: { a: [{ b: 1n }] } }),
      "traits.a.0.b",
      /BigInt/,
    ],
    [
      "a function",
      (c) => c.identify({ userId: USER_ID, traits: { f: () => 1 } }),
      "traits.f",
      /is a function/,
    ],
    [
      "a function in an array",
      (c) => c.identify({ userId: USER_ID, traits: { f: [() => 1] } }),
      "traits.f.0",
      /function/,
    ],
    ["a symbol", (c) => c.identify({ userId: USER_ID, context: { s: Symbol("s") } }), "context.s", /symbol/],
    ["a Map", (c) => c.identify({ userId: USER_ID, traits: { m: new Map() } }), "traits.m", /Map or a Set/],
    [
      "a getter that throws",
      (c) =>
        c.identify({
          userId: USER_ID,
          traits: Object.defineProperty({}, "g", {
            enumerable: true,
            get: () => {
              throw new Error("boom");
            },
          }),
        }),
      undefined,
      /boom/,
    ],
    [
      "a toJSON that throws",
      (c) =>
        c.identify({
          userId: USER_ID,
          traits: {
            t: {
              toJSON: () => {
                throw new Error("bang");
              },
            },
          },
        }),
      undefined,
      /bang/,
    ],
    [
      "a toJSON that returns a BigInt",
      (c) => c.identify({ userId: USER_ID, traits: { t: { toJSON: () => 1n } } }),
      undefined,
      /BigInt/,
    ],
    [
      "33 KB of ASCII",
      (c) => c.identify({ userId: USER_ID, traits: { bio: "x".repeat(33 * 1_024) } }),
      undefined,
      /32768 bytes.*has 33\d{3}/,
    ],
    [
      "33 KB of four-byte characters",
      (c) => c.identify({ userId: USER_ID, traits: { bio: "😀".repeat((33 * 1_024) / 4) } }),
      undefined,
      /has 33\d{3}/,
    ],
    [
      "33,000 values",
      (c) => c.identify({ userId: USER_ID, traits: { a: Array.from({ length: 33_000 }, () => 1) } }),
      "traits",
      /32768/,
    ],
    [
      "objects that share without end",
      (c) => c.identify({ userId: USER_ID, traits: doubling }),
      "traits",
      /32768/,
    ],
  ])("%s", (_, record, field, message) => {
    const error = refusal(record);
    expect(error.field).toBe(field);
    expect(error.message).toMatch(message);
  });

  it("an option that fails in the call makes it throw, and is not taken for what JSON cannot represent", async () => {
    const cause = new Error("no ids");
    const { analytics, service } = createBench({
      ids: () => {
        throw cause;
      },
    });
    expect(() => analytics.track({ userId: USER_ID, event: "E" })).toThrow(
      expect.objectContaining({ message: "This track() call cannot be recorded: Error: no ids.", cause }),
    );
    expect(await analytics.flush()).toEqual({ delivered: 0, failed: 0, dropped: 0, pending: 0 });
    expect(service.requests).toEqual([]);
  });
});

describe("what fits is sent as it was at the call", () => {
  it("32 KB in four-byte characters is measured in bytes, not in characters", async () => {
    const { analytics, service } = createBench();
    analytics.identify({ userId: USER_ID, traits: { bio: "😀".repeat(8_150) } });
    await analytics.flush();
    expect(new TextEncoder().encode(JSON.stringify(service.messages[0])).length).toBeGreaterThan(32_600);
  });

  it("changing the object after the call changes nothing", async () => {
    const { analytics, service } = createBench();
    const properties = { items: [{ price: 1 }] };
    const message = { userId: USER_ID, event: "E", properties };
    analytics.track(message);
    properties.items[0] = { price: 2 };
    message.event = "F";
    await analytics.flush();
    expect(service.messages[0]).toMatchObject({ event: "E", properties: { items: [{ price: 1 }] } });
  });

  it("keys that name parts of Object go through as own properties", async () => {
    const { analytics, service } = createBench();
    const json = '{"__proto__":{"a":1},"constructor":2,"toString":3}';
    analytics.page({
      userId: USER_ID,
      traits: JSON.parse(json) as object & Record<string, unknown>,
      properties: { path: "/" },
    });
    await analytics.flush();
    expect(JSON.stringify(service.messages[0]?.properties)).toBe(
      json.replace("}", "}").slice(0, -1) + ',"path":"/"}',
    );
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it("a lone surrogate is legal JSON and legal UTF-8", async () => {
    const { analytics, service } = createBench();
    analytics.identify({ userId: USER_ID, traits: { bio: "\ud83d" } });
    await analytics.flush();
    expect(service.messages[0]?.traits).toEqual({ bio: "\ud83d" });
  });

  it("whatever JSON can carry arrives equal", async () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 });
    const property = fc.asyncProperty(value, async (properties) => {
      const { analytics, service } = createBench();
      analytics.track({ userId: USER_ID, event: "E", properties });
      await analytics.flush();
      // Through JSON, which has no -0.
      expect(service.messages[0]?.properties).toEqual(JSON.parse(JSON.stringify(properties)));
    });
    await fc.assert(property, { numRuns: 200 });
  });
});

describe("timestamps", () => {
  it.each([
    ["2026-01-31T08:30:00Z", "2026-01-31T08:30:00.000Z"],
    ["2026-01-31T08:30:00.123456Z", "2026-01-31T08:30:00.123Z"],
    ["2026-01-31T08:30:00+0530", "2026-01-31T03:00:00.000Z"],
    ["2026-01-31T08:30:00-08:00", "2026-01-31T16:30:00.000Z"],
    ["2026-01-31T08:30+02", "2026-01-31T06:30:00.000Z"],
    ["2026-01-31 08:30:00", "2026-01-31T08:30:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ])("%s is %s", async (given, expected) => {
    const { analytics, service } = createBench();
    analytics.identify({ userId: USER_ID, timestamp: given });
    await analytics.flush();
    expect(service.messages[0]?.timestamp).toBe(expected);
  });

  it.each<unknown>([
    "yesterday",
    "1",
    "2023-02-29",
    "2026-02-30T00:00:00Z",
    "2026-13-01",
    "2026-01-01T24:30:00Z",
    "2026-01-01T00:60:00Z",
    "Thu, 01 Jan 2026 00:00:00 GMT",
    new Date(Number.NaN),
    new Date(8_640_000_000_000_000),
    1_767_225_600_000,
    {},
    true,
  ])("%s is refused", (timestamp) => {
    const error = refusal((analytics) => analytics.identify(call({ userId: USER_ID, timestamp })));
    expect(error.field).toBe("timestamp");
  });
});
