import { parseRetryAfter } from "@countersign/protocol";
import { describe, expect, it } from "vitest";

const now = Date.UTC(2026, 0, 31, 8, 30);

describe("parseRetryAfter", () => {
  it.each([
    ["0", 0],
    ["120", 120_000],
    [" 7 ", 7_000],
    ["Sat, 31 Jan 2026 08:31:00 GMT", 60_000],
    ["Saturday, 31-Jan-26 08:31:00 GMT", 60_000],
    ["Sat Jan 31 08:31:00 2026", 60_000],
    ["Sat, 31 Jan 2026 08:00:00 GMT", 0],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ])("reads %j", (value, wait) => {
    expect(parseRetryAfter(value, now)).toBe(wait);
  });

  it.each(["", "-1", "1.5", "soon", "2026-01-31T08:31:00Z", "1 minute", undefined, null])(
    "finds nothing in %j",
    (value) => {
      expect(parseRetryAfter(value, now)).toBeUndefined();
    },
  );

  it("measures a date against the server's own clock if the answer has a Date", () => {
    const wait = parseRetryAfter("Sat, 31 Jan 2026 10:01:00 GMT", now, "Sat, 31 Jan 2026 10:00:00 GMT");
    expect(wait).toBe(60_000);
    expect(parseRetryAfter("Sat, 31 Jan 2026 08:31:00 GMT", now, "nonsense")).toBe(60_000);
  });
});
