import { formatTimestamp, isTimestamp, parseTimestamp } from "@countersign/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("parseTimestamp", () => {
  it.each([
    ["2026-01-31T08:30:00.123Z", "2026-01-31T08:30:00.123Z"],
    ["2026-01-31T08:30:00", "2026-01-31T08:30:00.000Z"],
    ["2026-01-31T08:30:00 +0200", "2026-01-31T06:30:00.000Z"],
    ["2026-01-31T08:30:00,123Z", "2026-01-31T08:30:00.123Z"],
    ["2026-01-31 08:30", "2026-01-31T08:30:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["2026-01-31T08:30:00+02", "2026-01-31T06:30:00.000Z"],
    ["2026-01-31T08:30:00+0200", "2026-01-31T06:30:00.000Z"],
    ["2026-01-31T08:30:00 -03:30", "2026-01-31T12:00:00.000Z"],
    ["2026-01-31t08:30:00,1234567z", "2026-01-31T08:30:00.123Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0000-01-01", "0000-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("reads %s", (text, expected) => {
    expect(formatTimestamp(parseTimestamp(text) ?? Number.NaN)).toBe(expected);
  });

  it.each([
    "1",
    "2026",
    "2026-02-30",
    "2026-02-30T00:00:00.000Z",
    "2026-01-31T24:00:00.000Z",
    "Sat Jan 31 2026 08:30:00",
    "2025-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-01-31T24:00:00Z",
    "2026-01-31T08:60:00Z",
    "2026-01-31T08:30:60Z",
    "2026-01-31T08:30:00+24:00",
    "2026-01-31T08:30:00+02:60",
    "2026-01-31T08",
    "Sat, 31 Jan 2026 08:30:00 GMT",
    "10000-01-01",
    "-000001-01-01",
    "0000-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    " 2026-01-31",
    "",
    1_769_848_200_000,
    null,
    new Date(Number.NaN),
    new Date("+010000-01-01T00:00:00Z"),
  ])("invents no time from %j", (value) => {
    expect(parseTimestamp(value)).toBeUndefined();
  });

  it("writes the time as Date does, whatever was written before", () => {
    const nearby = fc.double({ min: -5_000, max: 5_000, noNaN: true });
    const any = fc.double({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.oneof(nearby, any)), (times) => {
        for (const time of times) expect(formatTimestamp(time)).toBe(new Date(time).toISOString());
      }),
    );
    expect(() => formatTimestamp(Number.NaN)).toThrow(RangeError);
    expect(() => formatTimestamp(8_640_000_000_000_001)).toThrow(RangeError);
  });

  it("returns what formatTimestamp wrote, for every time of four-digit years", () => {
    const times = fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 });
    fc.assert(
      fc.property(times, (time) => {
        expect(isTimestamp(time)).toBe(true);
        expect(parseTimestamp(formatTimestamp(time))).toBe(time);
        expect(parseTimestamp(new Date(time))).toBe(time);
      }),
    );
  });

  it("reads the same text as the same time in every time zone", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }), (date) => {
        const local = date.toISOString().slice(0, -1);
        expect(parseTimestamp(local)).toBe(date.getTime());
      }),
    );
  });

  it("takes a day exactly if the calendar has it", () => {
    const two = (value: number): string => String(value).padStart(2, "0");
    fc.assert(
      fc.property(fc.integer({ min: 1900, max: 2100 }), fc.nat(13), fc.nat(32), (year, month, day) => {
        const exists = new Date(Date.UTC(year, month - 1, day)).getUTCMonth() === month - 1 && day > 0;
        const isValid = exists && month >= 1 && month <= 12;
        expect(parseTimestamp(`${year}-${two(month)}-${two(day)}`) !== undefined).toBe(isValid);
      }),
      { numRuns: 500 },
    );
  });
});
