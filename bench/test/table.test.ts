import { describe, expect, it } from "vitest";
import { atLeast, atMost, verdictOf, type Row } from "../src/harness/row.ts";
import { formatNumber, markdownTable, textTable } from "../src/harness/table.ts";

function rowOf(row: Partial<Row>): Row {
  return { what: "a thing", against: "a peer", unit: "µs", ...row };
}

const ratio = (median: number) => ({ ratio: { median, low: median / 2, high: median * 2 } });

describe("a row", () => {
  it.each<[string, Row, string]>([
    ["a time at its bound", rowOf({ ...ratio(1.25), target: atMost(1.25) }), "met"],
    ["a time above it", rowOf({ ...ratio(1.26), target: atMost(1.25) }), "MISSED"],
    ["a rate at its bound", rowOf({ ...ratio(0.45), target: atLeast(0.45) }), "met"],
    ["a rate below it", rowOf({ ...ratio(0.44), target: atLeast(0.45) }), "MISSED"],
    ["a size with no peer", rowOf({ ours: 8, target: { of: "ours", is: "at most", value: 9 } }), "met"],
    ["a size too large", rowOf({ ours: 10, target: { of: "ours", is: "at most", value: 9 } }), "MISSED"],
    ["one without target", rowOf(ratio(7)), "-"],
    ["one that was skipped", rowOf({ skipped: "no redis", target: atLeast(3) }), "skipped"],
    ["one with a target and no figure", rowOf({ target: atLeast(3) }), "MISSED"],
  ])("%s", (_, row, verdict) => {
    expect(verdictOf(row)).toBe(verdict);
  });
});

describe("the table", () => {
  const rows = [
    rowOf({ ours: 12.345, theirs: 10, ...ratio(1.2), target: atMost(1.25) }),
    rowOf({
      what: "the other",
      unit: "req/s",
      ours: 12_345,
      theirs: 4_000,
      ...ratio(3),
      target: atLeast(3.5),
    }),
    rowOf({ what: "a | b", skipped: "no redis-server here", target: atLeast(3) }),
  ];

  it("holds what, ours, the peer, the ratio with its spread, and the target", () => {
    expect(textTable(rows).split("\n")).toEqual([
      "what       ours          peer or limit        ratio (spread)        target        verdict",
      "---------  ------------  -------------------  --------------------  ------------  -------",
      "a thing    12.3 µs       a peer: 10.0 µs      1.20 (0.60 to 2.40)   at most 1.25  met",
      "the other  12,345 req/s  a peer: 4,000 req/s  3.00 (1.50 to 6.00)   at least 3.5  MISSED",
      "a | b                    a peer               no redis-server here  at least 3    skipped",
    ]);
  });

  it("in Markdown has aligned columns, and a pipe in a cell does not end it", () => {
    const lines = markdownTable(rows).split("\n");
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
    expect(lines).toHaveLength(5);
    expect(lines[4]).toContain(String.raw`a \| b`);
  });
});

it.each([
  [0.051, "0.05"],
  [9.876, "9.88"],
  [98.76, "98.8"],
  [987.6, "988"],
  [1_234_567.8, "1,234,568"],
])("%d is written %s", (value, text) => {
  expect(formatNumber(value)).toBe(text);
});
