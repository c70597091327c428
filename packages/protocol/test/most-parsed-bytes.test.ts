import { MAX_CALL_BYTES, mostParsedBytes } from "@countersign/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);

describe("mostParsedBytes", () => {
  it("is never less than what the JSON has, up to the size of a call: nothing that is too large passes", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "binary" }), (text) => {
        const value: unknown = JSON.parse(text);
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(mostParsedBytes(value)).toBeGreaterThanOrEqual(Math.min(bytes, MAX_CALL_BYTES + 1));
      }),
    );
  });

  it.each([
    ["one long text", { a: "x".repeat(MAX_CALL_BYTES) }],
    ["many short values", Array.from({ length: MAX_CALL_BYTES }, () => 1)],
    ["many names", Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`n${index}`, null]))],
    ["what has to be escaped", { a: "\u0001".repeat(MAX_CALL_BYTES / 6) }],
    ["numbers that are written longer than they came", JSON.parse(`[${"1e20,".repeat(1_600)}1]`)],
  ])("is more than a call may have for %s", (_title, value) => {
    expect(mostParsedBytes(value)).toBeGreaterThan(MAX_CALL_BYTES);
  });

  it("is finite for 500 levels and not for more, and overflows no stack", () => {
    expect(mostParsedBytes(nested(500))).toBeLessThan(MAX_CALL_BYTES);
    expect(mostParsedBytes(nested(501))).toBe(Number.POSITIVE_INFINITY);
    expect(mostParsedBytes({ a: { b: nested(499) } })).toBe(Number.POSITIVE_INFINITY);
    expect(mostParsedBytes(nested(100_000))).toBe(Number.POSITIVE_INFINITY);
  });

  it("is far from the limit for a message of usual size", () => {
    const item = { sku: "sku-1", price: 99.5, quantity: 1, name: "Something that was bought" };
    const message = {
      type: "track",
      userId: "u1",
      event: "Bought",
      properties: { items: [item, item, item] },
    };
    expect(mostParsedBytes(message)).toBeLessThan(MAX_CALL_BYTES / 10);
  });
});
