import {
  assertSerializable,
  CALL_TYPES,
  ValidationError,
  MAX_CALL_BYTES,
  MAX_NESTING,
  measureCall,
  nestsDeeperThan,
  recordCall,
  serializeCall,
  utf8Bytes,
  type CallType,
} from "@countersign/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const defaults = { messageId: () => "id-1", now: () => Date.UTC(2026, 0, 31) };

function issueOf(action: () => unknown): Pick<ValidationError, "rule" | "field" | "message"> {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError);
    return error as ValidationError;
  }
  throw new Error("It was accepted.");
}

function record(type: CallType, call: unknown): object {
  return JSON.parse(serializeCall(recordCall(type, call, defaults)).json) as object;
}

/** An object of `levels` levels. */
function nested(levels: number): object {
  let value: object = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
}

describe("recordCall", () => {
  it("fills in the id and the time", () => {
    expect(record("track", { userId: "u1", event: "E" })).toEqual({
      type: "track",
      messageId: "id-1",
      timestamp: "2026-01-31T00:00:00.000Z",
      userId: "u1",
      event: "E",
    });
  });

  it("keeps what the call brings, in UTC", () => {
    const call = { anonymousId: "a", messageId: "m", timestamp: "2026-01-31T02:00:00+02" };
    expect(record("identify", call)).toMatchObject({ messageId: "m", timestamp: "2026-01-31T00:00:00.000Z" });
  });

  it("counts null, undefined and an empty text as absent", () => {
    const call = {
      userId: "u1",
      anonymousId: "",
      traits: null,
      timestamp: null,
      messageId: "",
      context: undefined,
    };
    expect(record("identify", call)).toEqual(record("identify", { userId: "u1" }));
  });

  it("sends the traits of a page as its properties, its own properties winning", () => {
    const call = { userId: "u1", traits: { url: "a", title: "t" }, properties: { url: "b" } };
    expect(record("page", call)).toMatchObject({ properties: { url: "b", title: "t" } });
    expect(record("page", call)).not.toHaveProperty("traits");
  });

  it.each(["traits", "properties"] as const)(
    "says that the %s of a page are no JSON, also where it has both, which become one",
    (field) => {
      const call = { userId: "u1", traits: { a: 1 }, properties: { b: 1 }, [field]: new Map([["a", 1]]) };
      expect(issueOf(() => recordCall("page", call, defaults))).toMatchObject({ rule: "not_json", field });
    },
  );

  it.each<[CallType, unknown, string, string | undefined]>([
    ["track", { userId: "u1", event: "E", propertys: {} }, "unknown_field", "propertys"],
    ["identify", { userId: "u1", Traits: {} }, "unknown_field", "Traits"],
    ["screen", { userId: "u1", traits: {} }, "unknown_field", "traits"],
    ["track", { userId: 7, event: "E" }, "invalid_field", "userId"],
    ["track", { userId: "u1", event: "E", properties: [] }, "invalid_field", "properties"],
    ["track", { userId: "u1", event: "E", properties: new Date() }, "invalid_field", "properties"],
    ["track", { userId: "u1", event: "E", integrations: { All: "no" } }, "invalid_field", "integrations.All"],
    ["track", { userId: "u1" }, "missing_event", "event"],
    ["track", { event: "E" }, "no_user_anon_id", "userId"],
    ["group", { userId: "u1" }, "missing_group_id", "groupId"],
    ["alias", { previousId: "p" }, "missing_user_id", "userId"],
    ["alias", { userId: "u1" }, "missing_previous_id", "previousId"],
    ["alias", { userId: "u1", previousId: "p", event: "E" }, "unknown_field", "event"],
    ["track", { userId: "u1", event: "E", timestamp: "1" }, "invalid_timestamp", "timestamp"],
    ["track", { userId: "u1", event: "E", timestamp: "2026-02-30" }, "invalid_timestamp", "timestamp"],
    ["track", { userId: "u1", event: "E", timestamp: 1_769_848_200_000 }, "invalid_timestamp", "timestamp"],
    ["track", { userId: "u1", event: "E", messageId: "m".repeat(100) }, "message_id_too_long", "messageId"],
    ["track", "E", "not_an_object", undefined],
    ["track", [], "not_an_object", undefined],
  ])("rejects %s(%j): %s", (type, call, rule, field) => {
    expect(issueOf(() => recordCall(type, call, defaults))).toMatchObject({ rule, field });
  });

  it("says which field was meant", () => {
    const { message } = issueOf(() =>
      recordCall("track", { userId: "u1", event: "E", propertys: {} }, defaults),
    );
    expect(message).toBe("track() has no field 'propertys'; did you mean \"properties\"?");
  });

  it("turns a getter that throws into an issue", () => {
    const call = Object.defineProperty({ event: "E" }, "userId", {
      enumerable: true,
      get() {
        throw new Error("broken");
      },
    });
    expect(issueOf(() => recordCall("track", call, defaults))).toMatchObject({ rule: "not_json" });
  });
});

describe("assertSerializable", () => {
  const track = (properties: object): Parameters<typeof assertSerializable>[0] =>
    recordCall("track", { userId: "u1", event: "E", properties }, defaults);

  /** The rule that a check finds broken. */
  const ruleOf = (check: () => unknown): string | undefined => {
    try {
      check();
      return undefined;
    } catch (error) {
      return (error as ValidationError).rule;
    }
  };

  it("refuses exactly what serializeCall refuses, however much of it is escaped", () => {
    const text = fc.string({ unit: "binary", maxLength: 12_000 });
    const near = fc.integer({ min: 5_000, max: 5_460 }).map((length) => "\u0001".repeat(length));
    const many = fc.integer({ min: 900, max: 34_000 }).map((length) => Array.from({ length }, () => 1));
    const value = fc.oneof(text, near, many, fc.jsonValue({ maxDepth: 5 }), fc.double(), fc.date());
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 9 }), value, { maxKeys: 4 }), (properties) => {
        const call = track(properties);
        expect(ruleOf(() => assertSerializable(call))).toBe(ruleOf(() => serializeCall(call)));
      }),
    );
  });

  it("writes what writes itself, to find out how large it is", () => {
    const call = track({ a: { toJSON: () => "a".repeat(MAX_CALL_BYTES) } });
    expect(issueOf(() => assertSerializable(call))).toMatchObject({ rule: "message_too_large" });
  });
});

describe("serializeCall", () => {
  const track = (properties: object): unknown =>
    serializeCall(recordCall("track", { userId: "u1", event: "E", properties }, defaults));

  it("takes a call of exactly 32 KiB, and none of a byte more", () => {
    for (const letter of ["a", "é", "日", "😀"]) {
      const empty = serializeCall(
        recordCall("track", { userId: "u1", event: "E", properties: { text: "" } }, defaults),
      );
      const size = utf8Bytes(letter);
      const room = MAX_CALL_BYTES - empty.bytes;
      const text = letter.repeat(Math.floor(room / size)) + "a".repeat(room % size);
      expect(track({ text })).toMatchObject({ bytes: MAX_CALL_BYTES });
      expect(issueOf(() => track({ text: `${text}a` }))).toMatchObject({ rule: "message_too_large" });
    }
  });

  it("measures any text as its UTF-8 bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 12_000 }), (text) => {
        const bytes = Buffer.byteLength(text);
        expect(utf8Bytes(text)).toBe(bytes);
        expect(measureCall(text)).toBe(bytes <= MAX_CALL_BYTES ? bytes : undefined);
      }),
    );
  });

  it("takes a call of exactly 500 levels, and none deeper", () => {
    // The call is the first level, properties the second.
    expect(track(nested(MAX_NESTING - 1))).toBeDefined();
    expect(issueOf(() => track(nested(MAX_NESTING)))).toMatchObject({ rule: "nested_too_deeply" });
    expect(nestsDeeperThan(JSON.parse(JSON.stringify(nested(MAX_NESTING))))).toBe(false);
    expect(nestsDeeperThan(JSON.parse(JSON.stringify(nested(MAX_NESTING + 1))))).toBe(true);
  });

  it("counts the levels of what writes itself", () => {
    const writesItself = (levels: number): object => ({ toJSON: () => nested(levels) });
    expect(track({ a: writesItself(MAX_NESTING - 2) })).toBeDefined();
    expect(issueOf(() => track({ a: writesItself(MAX_NESTING - 1) }))).toMatchObject({
      rule: "nested_too_deeply",
    });
  });

  it("stops at a circular value, and at one that cannot fit", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    expect(issueOf(() => track(circular))).toMatchObject({ rule: "nested_too_deeply" });
    const shared = Array.from({ length: 300 }, () => 1);
    const many = Array.from({ length: 1_000_000 }, () => shared);
    expect(issueOf(() => track({ many }))).toMatchObject({ rule: "message_too_large" });
  });

  it.each([
    ["a function", { a: { f: () => {} } }, "properties.a.f"],
    ["a symbol", { a: [Symbol("s")] }, "properties.a.0"],
    ["a Map", { a: new Map() }, "properties.a"],
    ["a Set", { a: new Set() }, "properties.a"],
    ["a BigInt", { a: 1n }, "properties.a"],
  ])("rejects %s, which JSON would drop", (_, properties, field) => {
    expect(issueOf(() => track(properties))).toMatchObject({ rule: "not_json", field });
  });

  it("carries whatever JSON can carry, for every type of call", () => {
    const call = { userId: "u1", event: "E", groupId: "g", previousId: "p" };
    const own: Record<CallType, string[]> = {
      identify: ["userId"],
      track: ["userId", "event"],
      page: ["userId"],
      screen: ["userId"],
      group: ["userId", "groupId"],
      alias: ["userId", "previousId"],
    };
    fc.assert(
      fc.property(
        fc.constantFrom(...CALL_TYPES),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (type, context) => {
          const fields = Object.fromEntries(
            Object.entries(call).filter(([name]) => own[type].includes(name)),
          );
          expect(record(type, { ...fields, context })).toMatchObject({
            context: JSON.parse(JSON.stringify(context)) as object,
          });
        },
      ),
    );
  });
});

describe("an object field that writes itself is what it writes, so that client, server and sender read the same", () => {
  const written = (value: unknown) => ({ userId: "u1", traits: { toJSON: () => value } });

  it("an object is recorded, nothing is absent", () => {
    expect(record("identify", written({ a: 1 }))).toMatchObject({ traits: { a: 1 } });
    for (const nothing of [null, undefined, () => 1]) {
      expect(record("identify", written(nothing))).not.toHaveProperty("traits");
    }
  });

  it.each<[string, unknown]>([
    ["a number", written(1)],
    ["an array", written([1])],
    ["a string", written("text")],
    ["a number", { userId: "u1", traits: Object(3) as unknown }],
    ["a string", { userId: "u1", traits: Object("text") as unknown }],
  ])("%s is no object", (kind, call) => {
    const issue = issueOf(() => record("identify", call));
    expect([issue.rule, issue.message]).toEqual([
      "invalid_field",
      `'traits' must be an object, not ${kind}.`,
    ]);
  });
});
