import fc from "fast-check";

/** Texts that JSON, UTF-8 or JavaScript treat specially. */
const AWKWARD_TEXTS = [
  "",
  "\0",
  "\u2028",
  "\uFEFF",
  "é",
  "e\u0301",
  "😀",
  "\u{10FFFF}",
  "\\",
  '"',
  "/",
  "</script>",
  "__proto__",
];

/** Numbers at the edges of what JSON and doubles hold. */
const AWKWARD_NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e21,
  1e-7,
  2 ** 53,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  1_234_567.891,
];

/** Any text of JSON, awkward ones as often as ordinary ones; lone surrogates among them. */
export const jsonText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom(...AWKWARD_TEXTS),
);

/** Any value of JSON, small. */
export const jsonValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    jsonText,
    fc.oneof(
      fc.constantFrom(...AWKWARD_NUMBERS),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
    ),
    fc.constantFrom(true, false, null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(jsonText, tie("value"), { maxKeys: 4 }),
  ),
})).value;

/** An object of JSON. */
export const jsonObject: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(jsonText, jsonValue, {
  maxKeys: 5,
});
