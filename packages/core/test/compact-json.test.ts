import { Buffer } from "node:buffer";
import { sampleMessages } from "@countersign/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasOneForm, isCompactJson } from "../src/verification/compact-json.ts";
import { reserialize } from "../src/verification/signature.ts";

const isCompact = (text: string): boolean => isCompactJson(Buffer.from(text));

/** Whether the second form of a body is another text than the body: then its signature has to be tried. */
function hasSecondForm(text: string): boolean {
  const rewritten = reserialize(text);
  return rewritten !== undefined && rewritten !== text;
}

describe("JSON that is certainly its own second form", () => {
  it.each(Object.entries(sampleMessages))(
    "recognises a %s message, which then is not parsed",
    (_type, message) => {
      expect(isCompact(JSON.stringify(message))).toBe(true);
    },
  );

  it.each([
    "0",
    "7",
    "-7",
    "123456789012345",
    "0.5",
    "-0.5",
    "9.95",
    "0.000001",
    "-0.000001",
    "123456789.123456",
    String.raw`"\"\\\b\f\n\r\t"`,
    '"Grüße 🎉 \u2028 \u007f"',
    "true",
    "null",
    "[]",
    "{}",
    '{"a":{"a":[{"a":1},{"a":1}]}}',
    '{"__proto__":1,"constructor":2}',
    "[[[]],{}]",
  ])("recognises %s", (text) => {
    expect(reserialize(text)).toBe(text);
    expect(isCompact(text)).toBe(true);
  });

  it.each([
    ' {"a":1}',
    '{"a": 1}',
    '{"a":1}\n',
    '"\\/"',
    '"\\u00e9"',
    '"\\u0041"',
    '"\\u001F"',
    "1.0",
    "1.50",
    "-0",
    "-0.0",
    "1e5",
    "1E5",
    "0.0000001",
    "-0.0000001",
    "12345678901234567890",
    "0.1234567890123456789",
    "1e400",
    '{"a":1,"a":2}',
    '{"a":1,"b":{},"a":1}',
    '{"b":1,"1":2}',
    '{"2":1,"1":2}',
    '[{"x":{"a":1},"y":2,"x":3}]',
    "[1 ]",
    '{"a":1e1}',
    "[1.10,2]",
  ])("leaves %s to the parser, because it is written otherwise", (text) => {
    expect(hasSecondForm(text)).toBe(true);
    expect(isCompact(text)).toBe(false);
  });

  it("leaves what is too much for it to the parser: keys and levels", () => {
    const keys = (count: number): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0])));
    const levels = (count: number): string => `${'{"a":'.repeat(count)}1${"}".repeat(count)}`;
    expect([isCompact(keys(2_048)), isCompact(keys(2_049))]).toEqual([true, false]);
    expect([isCompact(levels(64)), isCompact(levels(65))]).toEqual([true, false]);
    // Nothing is left over from a text that was refused.
    expect(isCompact(keys(2_048))).toBe(true);
  });

  // What may be a token of JSON, or nearly one: texts of them are JSON often enough, and differ from it in every way.
  const token = fc.oneof(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"a":',
      '"b":',
      '"1":',
      '"é"',
      '"\\n"',
      '"\\u0061":',
      '"\\/"',
      " ",
      "\n",
      "-",
      "e",
      "E",
      ".",
      "0",
      "1",
    ),
    fc.constantFrom("true", "false", "null", "1.0", "10", "-0", "1e5", "0.1", "\ufeff", '"', "\\"),
    fc.double().map(String),
    fc.string().map((text) => JSON.stringify(text)),
  );
  const value = fc.json({ maxDepth: 4 });
  /** JSON with one place changed: white space, another spelling, a key again. */
  const changed = fc
    .tuple(
      value,
      fc.nat(),
      fc.constantFrom(" ", "0", "1", "e1", ".0", "-", "\\", '"', ",", '"a":1,', "\t", "\\u0031"),
    )
    .map(([json, at, inserted]) => {
      const index = at % (json.length + 1);
      return json.slice(0, index) + inserted + json.slice(index);
    });

  it.each([
    ["JSON", value],
    ["JSON with a change", changed],
    ["tokens", fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join(""))],
    [
      "objects of a few keys, some twice",
      fc
        .array(fc.constantFrom('"a":1', '"b":{"a":2}', '"a":[{"b":1}]', '"0":1', '"c":{"c":{}}'), {
          maxLength: 5,
        })
        .map((pairs) => `{${pairs.join(",")}}`),
    ],
  ])("is never said of %s that has another second form: its signature would not be tried", (_what, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(isCompact(text));
        return !hasSecondForm(text);
      }),
      { numRuns: 3_000, maxSkipsPerRun: 1_000 },
    );
  });

  it("says the same of bytes at any offset of their buffer, and of bytes that are not UTF-8 nothing that matters", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const text = Buffer.from(bytes).toString("latin1");
        expect(isCompactJson(Buffer.from(` ${text}`, "latin1").subarray(1))).toBe(isCompactJson(bytes));
      }),
    );
  });
});

describe("JSON whose second form is not tried", () => {
  const nested = (open: string, levels: number, close: string): Buffer =>
    Buffer.from(` ${open.repeat(levels)}1${close.repeat(levels)}`);

  it.each([
    ["[", "]"],
    ['{"":', "}"],
  ])("is nested deeper than a message may be, which took a tenth of a second to write: %s", (open, close) => {
    expect(hasOneForm(nested(open, 501, close))).toBe(true);
    expect(hasOneForm(nested(open, 500, close))).toBe(false);
  });

  it("is not a text with brackets, or many lists one after the other", () => {
    const text = `{ "a": "\\"${"[{".repeat(1_000)}" }`;
    expect(hasOneForm(Buffer.from(text))).toBe(false);
    expect(hasOneForm(Buffer.from(` [${"[],".repeat(1_000)}1]`))).toBe(false);
  });
});
