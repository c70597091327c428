import { describe, expect, it } from "vitest";
import { keyOf } from "../../src/ingest/call-key.ts";

const MESSAGE = { type: "track", userId: "u", event: "E", properties: { price: 1 } };
const keyOfId = (id: string): string => keyOf(MESSAGE, "track", id, undefined) ?? "";

describe("the key of a call", () => {
  it.each([
    ["@segment/analytics-node", "node-next-1763806312345-7d1c2a70-0b5e-4a3e-9a1f-1f0c9a2b3c4d"],
    ["a UUID of version 7", "019a0f2c-7d3e-7b1a-8c55-0f6e2d1b4a90"],
    ["a counter", "poster-17"],
  ])("begins like the id of %s, so that keys of one time are neighbours in an index", (_title, id) => {
    expect(keyOfId(id)).toMatch(new RegExp(`^${id.slice(0, 20)}\\.[\\w-]{43}$`));
  });

  it("orders calls like their ids do, as far as they begin with a time", () => {
    const ids = Array.from(
      { length: 50 },
      (_, index) => `node-next-${1_763_806_312_345 + index * 1_000}-${index}`,
    );
    const keys = ids.map(keyOfId);
    expect(keys.toSorted()).toEqual(keys);
  });

  it.each(["é", "a b", "a\u0000b", "\ud800", "#1", ""])("contains nothing else of an id: %j", (id) => {
    expect(keyOfId(id)).toMatch(/^a?\.[\w-]{43}$/);
  });

  it("tells ids that begin alike, ids from places, types, and contents", () => {
    const long = "node-next-1763806312345-";
    const keys = [
      keyOfId(`${long}a`),
      keyOfId(`${long}b`),
      keyOf(MESSAGE, "track", undefined, `${long}a`),
      keyOf(MESSAGE, "page", `${long}a`, undefined),
      keyOf({ ...MESSAGE, event: "F" }, "track", `${long}a`, undefined),
      // The same values in other fields.
      keyOf({ ...MESSAGE, event: undefined, name: "E" }, "track", `${long}a`, undefined),
      keyOf({ ...MESSAGE, userId: undefined, anonymousId: "u" }, "track", `${long}a`, undefined),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each([
    "userId",
    "anonymousId",
    "event",
    "name",
    "category",
    "groupId",
    "previousId",
    "properties",
    "traits",
  ])("is another one where only %s differs: the call would be lost", (field) => {
    expect(keyOf({ ...MESSAGE, [field]: "other" }, "track", "a", undefined)).not.toBe(keyOfId("a"));
  });

  it("is the same for what a client stamps again, and for null in place of nothing", () => {
    const again = {
      ...MESSAGE,
      timestamp: "now",
      sentAt: "now",
      context: {},
      integrations: {},
      traits: null,
    };
    expect(keyOf(again, "track", "a", undefined)).toBe(keyOfId("a"));
    expect(keyOf(MESSAGE, "track", undefined, undefined)).toBeUndefined();
  });
});
