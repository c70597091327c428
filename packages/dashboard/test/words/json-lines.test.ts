import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonLines } from "../../src/parts/json-lines.ts";

describe("JSON in lines", () => {
  it("has every value of the text once, as it was written", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const lines = jsonLines(text) ?? [];
        const written = lines
          .map(({ key, text: value }) => (key === undefined ? value : `${key}${value}`))
          .join("");
        // Outside of strings only white space, colons and commas may be missing.
        const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"|[\s:,]/g, (part) =>
          part.startsWith('"') ? part : "",
        );
        expect(written).toBe(bare);
      }),
    );
  });

  it("keeps what parsing would lose: large integers, repeated names, escapes and __proto__", () => {
    const text = '{"id":12345678901234567890,"a":1,"a":2,"\\u0041":1.0,"__proto__":{"x":[]}}';
    const lines = jsonLines(text) ?? [];
    expect(lines.map(({ key, text: value }) => `${key ?? ""}${value}`)).toEqual([
      "{",
      '"id"12345678901234567890',
      '"a"1',
      '"a"2',
      '"\\u0041"1.0',
      '"__proto__"{',
      '"x"[',
      "]",
      "}",
      "}",
    ]);
    expect(lines[0]).toMatchObject({ end: 9, items: 5 });
  });

  it("reads a megabyte that nests deeply without recursion", () => {
    const depth = 4_000;
    const text = `${"[".repeat(depth)}"${"x".repeat(1_000_000)}"${"]".repeat(depth)}`;
    expect(jsonLines(text)).toHaveLength(2 * depth + 1);
  });

  it.each(["", "{", "{'a':1}", "<html>", "undefined", '{"a":}'])("is not made of %j", (text) => {
    expect(jsonLines(text)).toBeUndefined();
  });
});
