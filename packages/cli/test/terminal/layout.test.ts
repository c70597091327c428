import fc from "fast-check";
import { createColors } from "picocolors";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { coreMs } from "../../../core/test/support/core-ms.ts";
import { cut, layout, widthOf, wrap, type Part } from "../../src/terminal/layout.ts";
import { withoutColours } from "../support/pty.ts";

const plain = createColors(false);
const coloured = createColors(true);

describe("cut", () => {
  it.each([
    ["short", 10, "short"],
    ["exactly ten", 11, "exactly ten"],
    ["one too many", 11, "one too ma…"],
    // A wide character is never cut in half: one column stays free.
    ["日本日本", 6, "日本…"],
    ["日本日本", 8, "日本日本"],
    ["👩‍👩‍👧‍👦 family", 4, "👩‍👩‍👧‍👦 …"],
    ["é́́ combined", 3, "é́́ …"],
    ["text", 0, ""],
  ])("%j to %i columns", (text, columns, expected) => {
    expect(cut(text, columns)).toBe(expected);
    expect(stringWidth(expected)).toBeLessThanOrEqual(columns);
  });
});

describe("layout", () => {
  const parts: readonly Part[] = [
    { text: "17:24:06", tone: "dim" },
    { text: "track" },
    { text: '"Order Completed"', shrinks: true },
    { text: "500 in 4 ms", tone: "bad", gap: 2 },
    { text: "again in 9 s", gap: 2 },
    { text: "(3rd try, until 21:24)", short: "(3rd try)", optional: true, tone: "dim" },
  ];

  it.each([
    [undefined, '17:24:06 track "Order Completed"  500 in 4 ms  again in 9 s (3rd try, until 21:24)'],
    [82, '17:24:06 track "Order Completed"  500 in 4 ms  again in 9 s (3rd try, until 21:24)'],
    [81, '17:24:06 track "Order Completed"  500 in 4 ms  again in 9 s (3rd try)'],
    [69, '17:24:06 track "Order Completed"  500 in 4 ms  again in 9 s (3rd try)'],
    [68, '17:24:06 track "Order Completed"  500 in 4 ms  again in 9 s'],
    [58, '17:24:06 track "Order Complete…  500 in 4 ms  again in 9 s'],
    [48, '17:24:06 track "Orde…  500 in 4 ms  again in 9 s'],
    [40, '17:24:06 track "Orde…  500 in 4 ms  aga…'],
    [10, "17:24:06 …"],
    [3, "17…"],
  ])("of %j columns loses first what can be missed", (columns, line) => {
    expect(layout(parts, plain, columns)).toBe(line);
    expect(withoutColours(layout(parts, coloured, columns))).toBe(line);
  });

  it("takes no more columns than there are, whatever the texts", () => {
    const part = fc.record({
      text: fc.string({ unit: "grapheme", maxLength: 60 }),
      gap: fc.integer({ min: 1, max: 2 }),
      shrinks: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.integer({ min: 1, max: 150 }), (some, columns) => {
        expect(widthOf(layout(some, plain, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it("without a terminal keeps a name of any usual length, and not one that would fill the disk of a log", () => {
    const line = (text: string): string =>
      layout([{ text: "track" }, { text, shrinks: true }, { text: "204 in 3 ms" }], plain);
    expect(line("n".repeat(200))).toBe(`track ${"n".repeat(200)} 204 in 3 ms`);
    expect(line("n".repeat(30_000))).toBe(`track ${"n".repeat(199)}… 204 in 3 ms`);
    expect(line("\u{1F600}".repeat(15_000)).length).toBeLessThan(450);
  });

  it("of a text of a megabyte costs no more than its line", async () => {
    const text = "日".repeat(1_000_000);
    let line = "";
    const used = await coreMs(() => (line = layout([{ text, shrinks: true }, { text: "204" }], plain, 80)));
    expect(used).toBeLessThan(1_000);
    expect(line).toMatch(/^日+… 204$/);
  });
});

describe("wrap", () => {
  it("breaks between words, indents each line, and keeps every word", () => {
    const text =
      "The receiver did not accept the signature. Compare its secret with the one that signs here.";
    const lines = wrap(text, "    ", 40);
    expect(lines).toEqual([
      "    The receiver did not accept the",
      "    signature. Compare its secret with",
      "    the one that signs here.",
    ]);
    expect(wrap(text, "    ")).toEqual([`    ${text}`]);
    // A terminal that is narrower than the indent breaks lines itself.
    expect(wrap(text, " ".repeat(16), 20)).toHaveLength(1);
  });
});
