import { parseAsWritten, parseBack } from "@countersign/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const key = fc.string({
  unit: fc.constantFrom("\\", "\n", '"', "é", "a", ":", " ", "\0", "1", "%", "\ud800"),
  maxLength: 3,
});
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 3 }, key, fc.integer(), fc.array(tie("tree")), fc.dictionary(key, tie("tree"))),
}));

describe("parseAsWritten, which stands for JSON.parse where that misreads keys,", () => {
  it("reads a key with an escape, whatever an earlier text had in its place", () => {
    for (const [earlier, text, key] of [
      ['{"total":1,"caf\\\\":2}', '{"total":1,"caf\\u00e9":2}', "café"],
      ['{"total":1,"\\\\":2}', '{"total":1,"\\u0000":2}', "\0"],
      ['[{"a":1,"b\\\\":2}]', '{"a":1,"b\\"" : 2}', 'b"'],
      ['{"q":1,"R\\\\u":2}', '{"q":1,"R\\u0026D":2}', "R&D"],
    ] as const) {
      // Node 24 remembers the keys.
      for (let time = 0; time < 3; time += 1) JSON.parse(earlier);
      expect(Object.keys(parseAsWritten(text) as object)[1]).toBe(key);
    }
  });

  it.each([
    ["the order of keys", '{"b\\n":1,"a":2,"\\u0031":3,"0":4}', '{"0":4,"1":3,"b\\n":1,"a":2}'],
    ["the last of two keys that are the same number", '{"\\u0031":1,"1":2,"x\\n":3}', '{"1":2,"x\\n":3}'],
    ["the last of two keys that are the same", '{"é":1,"\\u00e9":2,"x":3,"\\u00e9":4}', '{"é":4,"x":3}'],
    [
      "a key of the prototype",
      '{"x\\n":{"__proto__":1},"\\u005f_proto__":{"y\\/":2}}',
      '{"x\\n":{"__proto__":1},"__proto__":{"y/":2}}',
    ],
    [
      "keys that end with backslashes",
      '{"a\\\\":1,"b\\\\\\\\":2,"\\\\\\"":3}',
      '{"a\\\\":1,"b\\\\\\\\":2,"\\\\\\"":3}',
    ],
    [
      "strings that look like keys",
      '{"a":"\\n\\": ","b\\t":["\\\\\\":","c\\r"]}',
      '{"a":"\\n\\": ","b\\t":["\\\\\\":","c\\r"]}',
    ],
    ["a text alone", '"\\n\\": "', '"\\n\\": "'],
  ])("keeps %s, as JSON.parse should", (_, text, written) => {
    expect(JSON.stringify(parseAsWritten(text))).toBe(written);
  });

  it("gives what was written, for any JSON", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = JSON.stringify(value).replaceAll("é", "\\u00e9");
        expect(JSON.stringify(parseAsWritten(text)).replaceAll("é", "\\u00e9")).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it("reads what nests as deep as JSON.parse lets it, and refuses what is no JSON as it does", () => {
    const deep = `${'{"\\n":['.repeat(5_000)}${"]}".repeat(5_000)}`;
    expect(Object.keys(parseAsWritten(deep) as object)).toEqual(["\n"]);
    expect(() => parseAsWritten('{"a\\n":')).toThrow(SyntaxError);
  });
});

describe("parseBack", () => {
  it("reads what JSON.stringify has written, whatever an earlier text had in the place of a key", () => {
    // Node 24 remembers the keys.
    for (let time = 0; time < 3; time += 1) JSON.parse('{"total":1,"caf\\\\":2}');
    expect(parseBack(JSON.stringify({ total: 1, 'caf"': 2 }))).toEqual({ total: 1, 'caf"': 2 });
    fc.assert(
      fc.property(tree, (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseBack(text))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it("reads a text of any length, so that a call with it is said to be too large", () => {
    const text = JSON.stringify({ 'a"': "x".repeat(20_000_000) });
    expect(JSON.stringify(parseBack(text)) === text).toBe(true);
  });

  it("keeps a key of the prototype as a key", () => {
    const text = '{"a":{"__proto__":{"b":1}},"constructor":2}';
    expect(JSON.stringify(parseBack(text))).toBe(text);
  });
});
