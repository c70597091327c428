import fc from "fast-check";
import { expect, it } from "vitest";
import { pack, unpack } from "../src/queue/packed-messages.ts";

const word = fc.constantFrom(
  "",
  "a",
  "userId",
  "type",
  "a:b",
  "[{,",
  '"',
  "\\",
  "\\u0001",
  "\u0001",
  "\u0002",
  "é",
  "😀",
  ":",
);
const id = fc.oneof(
  fc.uuid(),
  fc.uuid().map((text) => text.toUpperCase()),
  fc.string({ unit: fc.constantFrom("0", "f", "g", "-"), minLength: 36, maxLength: 36 }),
);
const text = fc.oneof(word, id, fc.string({ unit: "binary", maxLength: 12 }));
const leaf = fc.oneof(text, fc.constantFrom(null, true, -0.5, 1e21, 7));
const message = fc.dictionary(
  text,
  fc.oneof(leaf, fc.array(leaf, { maxLength: 4 }), fc.dictionary(text, leaf)),
  {
    maxKeys: 6,
  },
);

function packed(texts: readonly string[]): {
  bytes: Uint8Array;
  places: Uint16Array;
  raw: Buffer;
  ends: number[];
} {
  const pieces = texts.map((json) => Buffer.from(`${json},`));
  let end = 0;
  const ends = pieces.map(({ length }) => (end += length));
  const raw = Buffer.concat(pieces);
  const places = Uint16Array.from(ends);
  return { bytes: pack(raw, places), places, raw, ends };
}

/** Each message by itself, and all of them. */
function check(texts: readonly string[]): void {
  const { bytes, places, raw, ends } = packed(texts);
  expect(bytes.length).toBeLessThanOrEqual(raw.length);
  const all = Buffer.alloc(raw.length);
  expect(unpack(bytes, 0, bytes.length, all, 0)).toBe(raw.length);
  expect(all.equals(raw)).toBe(true);
  texts.forEach((json, index) => {
    const one = Buffer.alloc((ends[index] ?? 0) - (ends[index - 1] ?? 0));
    unpack(bytes, places[index - 1] ?? 0, places[index] ?? 0, one, 0);
    expect(one.toString()).toBe(`${json},`);
  });
}

it("any JSON comes back as it was, message by message", () => {
  const messages = fc.array(message, { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(messages, (values) => check(values.map((value) => JSON.stringify(value)))),
    { numRuns: 1_000 },
  );
});

it("a block as large as it can be comes back, with words that stand far behind its start", () => {
  const texts = Array.from({ length: 400 }, (_, n) =>
    JSON.stringify({ [`key ${n}`]: `value ${n % 250}`, n: "x".repeat(110) }),
  );
  expect(Buffer.byteLength(texts.join(",")) + 1).toBeLessThanOrEqual(65_535);
  check(texts);
});

it("events of one kind take less than half", () => {
  const texts = Array.from({ length: 200 }, (_, n) =>
    JSON.stringify({
      type: "track",
      messageId: crypto.randomUUID(),
      timestamp: "2026-01-31T08:30:00.000Z",
      userId: `user-${n}`,
      event: "Order Completed",
      properties: { orderId: `order-${n}`, total: 99.5, currency: "EUR" },
    }),
  );
  const { bytes, raw } = packed(texts);
  expect(bytes.length).toBeLessThan(raw.length / 2);
});
