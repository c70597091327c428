import { isMessage, parseMessage, type WebhookErrorCode } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, it } from "vitest";
import { caught } from "./support/caught.ts";

const types = Object.keys(sampleMessages) as (keyof typeof sampleMessages)[];
const { alias, delete: deletion, group, page, screen, track } = sampleMessages;

/** The message with fields changed; undefined takes a field away. */
function change(message: object, changes: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify({ ...message, ...changes })) as Record<string, unknown>;
}

describe("parseMessage", () => {
  it.each(types)("gives a %s back, the very same object", (type) => {
    const message = sampleMessages[type];
    expect(parseMessage(message)).toBe(message);
    expect(isMessage(message)).toBe(true);
  });

  it("keeps fields it does not know, wherever they are", () => {
    const message = change(track, {
      channel: "web",
      _metadata: { bundled: [] },
      context: { custom: { a: 1 } },
    });
    expect(parseMessage(message)).toEqual({
      ...track,
      channel: "web",
      _metadata: { bundled: [] },
      context: { custom: { a: 1 } },
    });
  });

  it.each([
    ["userId and no anonymousId", change(track, { anonymousId: null })],
    ["anonymousId and no userId", change(track, { userId: undefined, anonymousId: "a-1" })],
    ["anonymousId and an empty userId", change(track, { userId: "", anonymousId: "a-1" })],
    ["no version, messageId, timestamp or context", { type: "track", userId: "u-1", event: "e" }],
    [
      "every optional field null",
      change(page, { name: null, category: null, properties: null, context: null }),
    ],
    ["null in a page's properties", change(page, { properties: { path: null, title: "t", other: 1 } })],
    // The service keeps what clients record: a 422 would be final, and lose the message.
    ["a page whose path is a number", change(page, { properties: { path: 7, url: {}, title: [] } })],
    ["a context and traits of any kind", change(track, { context: { ip: 1, device: "x", traits: [] } })],
    ["a version of its own", change(screen, { version: 2.5 })],
    ["an empty name", change(screen, { name: "" })],
    ["an alias as the spec's sample spells it", { type: "alias", "Previous ID": "a", "User ID": "b" }],
    ["an alias in camel case", { type: "alias", previousId: "a", userId: "b" }],
    ["an alias in one spelling each", { type: "alias", previousId: "a", "User ID": "b" }],
    [
      "an alias with one spelling empty and the other set",
      change(alias, { "Previous ID": "", previousId: "a" }),
    ],
  ])("accepts %s", (_case, message) => {
    expect(parseMessage(message)).toBe(message);
  });

  const refused: [name: string, value: unknown, code: WebhookErrorCode, message: string][] = [
    ["an array", [track], "ERR_BATCH_UNSUPPORTED", "The body is an array; send one message in each request."],
    [
      "an empty array",
      [],
      "ERR_BATCH_UNSUPPORTED",
      "The body is an array; send one message in each request.",
    ],
    ["null", null, "ERR_INVALID_MESSAGE", "The message must be a JSON object, but is null."],
    ["undefined", undefined, "ERR_INVALID_MESSAGE", "The message must be a JSON object, but is missing."],
    ["text", "track", "ERR_INVALID_MESSAGE", "The message must be a JSON object, but is a string."],
    ["a number", 7, "ERR_INVALID_MESSAGE", "The message must be a JSON object, but is a number."],
    ["no type", {}, "ERR_INVALID_MESSAGE", 'Field "type" must be a string, but is missing.'],
    [
      "a null type",
      change(track, { type: null }),
      "ERR_INVALID_MESSAGE",
      'Field "type" must be a string, but is null.',
    ],
    [
      "a list as type",
      change(track, { type: ["track"] }),
      "ERR_INVALID_MESSAGE",
      'Field "type" must be a string, but is an array.',
    ],
    [
      "an unknown type",
      change(track, { type: "purchase" }),
      "ERR_UNKNOWN_TYPE",
      "The message type must be one of page, screen, identify, track, alias, group, delete.",
    ],
    [
      "a type in capitals",
      change(track, { type: "Track" }),
      "ERR_UNKNOWN_TYPE",
      "The message type must be one of page, screen, identify, track, alias, group, delete.",
    ],
    [
      "a type of every object",
      change(track, { type: "constructor" }),
      "ERR_UNKNOWN_TYPE",
      "The message type must be one of page, screen, identify, track, alias, group, delete.",
    ],
    [
      "a type called __proto__",
      change(track, { type: "__proto__" }),
      "ERR_UNKNOWN_TYPE",
      "The message type must be one of page, screen, identify, track, alias, group, delete.",
    ],
    [
      "a version as text",
      change(track, { version: "1" }),
      "ERR_INVALID_MESSAGE",
      'Field "version" of track must be a number, but is a string.',
    ],
    [
      "a messageId that is a number",
      change(track, { messageId: 1 }),
      "ERR_INVALID_MESSAGE",
      'Field "messageId" of track must be a string, but is a number.',
    ],
    [
      "a userId that is a number",
      change(track, { userId: 1842 }),
      "ERR_INVALID_MESSAGE",
      'Field "userId" of track must be a string, but is a number.',
    ],
    [
      "an anonymousId that is an object",
      change(track, { anonymousId: {} }),
      "ERR_INVALID_MESSAGE",
      'Field "anonymousId" of track must be a string, but is an object.',
    ],
    [
      "a timestamp that is a number",
      change(track, { timestamp: 1 }),
      "ERR_INVALID_MESSAGE",
      'Field "timestamp" of track must be a string, but is a number.',
    ],
    [
      "a context that is a list",
      change(track, { context: [] }),
      "ERR_INVALID_MESSAGE",
      'Field "context" of track must be an object, but is an array.',
    ],
    [
      "integrations that are true",
      change(track, { integrations: true }),
      "ERR_INVALID_MESSAGE",
      'Field "integrations" of track must be an object, but is a boolean.',
    ],
    [
      "neither userId nor anonymousId",
      change(track, { userId: undefined }),
      "ERR_INVALID_MESSAGE",
      'A message of type track must have a non-empty "userId" or "anonymousId".',
    ],
    [
      "both ids empty",
      change(page, { userId: "", anonymousId: "" }),
      "ERR_INVALID_MESSAGE",
      'A message of type page must have a non-empty "userId" or "anonymousId".',
    ],
    [
      "both ids null",
      change(screen, { userId: null, anonymousId: null }),
      "ERR_INVALID_MESSAGE",
      'A message of type screen must have a non-empty "userId" or "anonymousId".',
    ],
    [
      "a track without event",
      change(track, { event: undefined }),
      "ERR_INVALID_MESSAGE",
      'A message of type track must have a non-empty "event".',
    ],
    [
      "a track with an empty event",
      change(track, { event: "" }),
      "ERR_INVALID_MESSAGE",
      'A message of type track must have a non-empty "event".',
    ],
    [
      "an event that is a number",
      change(track, { event: 3 }),
      "ERR_INVALID_MESSAGE",
      'Field "event" of track must be a string, but is a number.',
    ],
    [
      "track properties that are a list",
      change(track, { properties: [1] }),
      "ERR_INVALID_MESSAGE",
      'Field "properties" of track must be an object, but is an array.',
    ],
    [
      "page properties that are text",
      change(page, { properties: "/" }),
      "ERR_INVALID_MESSAGE",
      'Field "properties" of page must be an object, but is a string.',
    ],
    [
      "a page's name that is a number",
      change(page, { name: 1 }),
      "ERR_INVALID_MESSAGE",
      'Field "name" of page must be a string, but is a number.',
    ],
    [
      "a screen's category that is a list",
      change(screen, { category: [] }),
      "ERR_INVALID_MESSAGE",
      'Field "category" of screen must be a string, but is an array.',
    ],
    [
      "traits that are text",
      change(sampleMessages.identify, { traits: "pro" }),
      "ERR_INVALID_MESSAGE",
      'Field "traits" of identify must be an object, but is a string.',
    ],
    [
      "a group without groupId",
      change(group, { groupId: undefined }),
      "ERR_INVALID_MESSAGE",
      'A message of type group must have a non-empty "groupId".',
    ],
    [
      "a group with a null groupId",
      change(group, { groupId: null }),
      "ERR_INVALID_MESSAGE",
      'A message of type group must have a non-empty "groupId".',
    ],
    [
      "a group without a user",
      change(group, { userId: null }),
      "ERR_INVALID_MESSAGE",
      'A message of type group must have a non-empty "userId" or "anonymousId".',
    ],
    [
      "an alias without a previous identity",
      change(alias, { "Previous ID": undefined }),
      "ERR_INVALID_MESSAGE",
      'A message of type alias must have a non-empty "Previous ID" or "previousId".',
    ],
    [
      "an alias without a new identity",
      change(alias, { "User ID": undefined, userId: undefined }),
      "ERR_INVALID_MESSAGE",
      'A message of type alias must have a non-empty "User ID" or "userId".',
    ],
    [
      "an alias whose identity is a number",
      change(alias, { "Previous ID": 1 }),
      "ERR_INVALID_MESSAGE",
      'Field "Previous ID" of alias must be a string, but is a number.',
    ],
    [
      "a delete with only an anonymousId",
      change(deletion, { userId: undefined, anonymousId: "a" }),
      "ERR_INVALID_MESSAGE",
      'A message of type delete must have a non-empty "userId".',
    ],
    [
      "a delete with an empty userId",
      change(deletion, { userId: "" }),
      "ERR_INVALID_MESSAGE",
      'A message of type delete must have a non-empty "userId".',
    ],
  ];

  it.each(refused)("refuses %s", (_case, value, code, message) => {
    expect(caught(() => parseMessage(value))).toMatchObject({ name: "WebhookError", code, message });
    expect(isMessage(value)).toBe(false);
  });

  it("reads only a message's own fields, not what it inherits", () => {
    const inherited: unknown = Object.create({ type: "track", userId: "u-1", event: "e" });
    expect(caught(() => parseMessage(inherited))).toMatchObject({ code: "ERR_INVALID_MESSAGE" });
    const lent = JSON.parse('{"type":"track","__proto__":{"userId":"u-1","event":"e"}}') as unknown;
    expect(caught(() => parseMessage(lent))).toMatchObject({ code: "ERR_INVALID_MESSAGE" });
  });
});

/** What the fields of each type hold (spec 2.2). Nothing is taken from the table in the source. */
const KINDS: Record<string, Record<string, "string" | "number" | "object">> = {
  page: { name: "string", category: "string", properties: "object" },
  screen: { name: "string", category: "string", properties: "object" },
  identify: { traits: "object" },
  track: { event: "string", properties: "object" },
  alias: { "Previous ID": "string", "User ID": "string", previousId: "string" },
  group: { groupId: "string", traits: "object" },
  delete: {},
};
const COMMON = {
  version: "number",
  messageId: "string",
  userId: "string",
  anonymousId: "string",
  timestamp: "string",
  context: "object",
  integrations: "object",
} as const;

describe.each(types)("each field of %s", (type) => {
  const fields = Object.entries({ ...COMMON, ...KINDS[type] });

  it.each(fields)("%s is a %s or null, and nothing else", (name, kind) => {
    const values = { string: "text", number: 7, object: { a: 1 }, boolean: true, array: [] };
    // Everything that must be there is there in another field too, or is refused for its kind all the same.
    const base = { ...sampleMessages[type], anonymousId: "a-1", previousId: "p" };
    for (const [given, value] of Object.entries(values)) {
      expect(isMessage({ ...base, [name]: value })).toBe(given === kind);
    }
    const isNeeded = ["event", "groupId"].includes(name) || (type === "delete" && name === "userId");
    expect(isMessage({ ...base, [name]: null })).toBe(!isNeeded);
  });
});

describe("keys that JavaScript gives a meaning", () => {
  const text =
    '{"type":"track","userId":"u-1","event":"e","__proto__":{"polluted":1},"properties":' +
    '{"__proto__":{"polluted":2},"constructor":{"prototype":{"polluted":3}},"prototype":{"polluted":4}},' +
    '"context":{"__proto__":{"polluted":5}}}';

  it("arrive as own properties and pollute no prototype", () => {
    const message = parseMessage(JSON.parse(text));
    if (message.type !== "track") throw new Error("not a track");
    const properties = message.properties ?? {};
    expect(Object.keys(properties)).toEqual(["__proto__", "constructor", "prototype"]);
    expect(Object.getOwnPropertyDescriptor(properties, "__proto__")?.value).toEqual({ polluted: 2 });
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(JSON.stringify(message)).toBe(text);
  });
});

describe("allowUnknownTypes", () => {
  const options = { allowUnknownTypes: true };

  it("lets an unknown type pass, the very same object", () => {
    const message = { type: "purchase", userId: "u-1", amount: 12 };
    expect(parseMessage(message, options)).toBe(message);
  });

  it("holds the fields that all messages share to their kinds", () => {
    expect(caught(() => parseMessage({ type: "purchase", userId: 7 }, options))).toMatchObject({
      code: "ERR_INVALID_MESSAGE",
      message: 'Field "userId" of the message must be a string, but is a number.',
    });
  });

  it.each([
    ["a wrong field of a known type", change(track, { event: 3 }), "ERR_INVALID_MESSAGE"],
    ["a type that is no text", { type: 7 }, "ERR_INVALID_MESSAGE"],
    ["an array", [], "ERR_BATCH_UNSUPPORTED"],
    ["null", null, "ERR_INVALID_MESSAGE"],
  ])("still refuses %s", (_case, value, code) => {
    expect(caught(() => parseMessage(value, options))).toMatchObject({ code });
  });

  it("is off when false", () => {
    expect(caught(() => parseMessage({ type: "purchase" }, { allowUnknownTypes: false }))).toMatchObject({
      code: "ERR_UNKNOWN_TYPE",
    });
  });
});
