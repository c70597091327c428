import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { correctClockSkew, readTimestamp } from "../../src/ingest/timestamps.ts";

const instant = Date.UTC(2024, 0, 2, 3, 4, 5, 678);

describe("readTimestamp", () => {
  it.each([
    ["milliseconds and Z", "2024-01-02T03:04:05.678Z", instant],
    ["microseconds, as Python sends", "2024-01-02T03:04:05.678901Z", instant],
    ["microseconds without a zone", "2024-01-02T03:04:05.678901", instant],
    ["nanoseconds, as Go sends", "2024-01-02T03:04:05.678901234Z", instant],
    ["ticks, as .NET sends", "2024-01-02T03:04:05.6789012Z", instant],
    ["+0000, as the Android client sends", "2024-01-02T03:04:05.678+0000", instant],
    ["+00:00, as PHP sends", "2024-01-02T03:04:05.678+00:00", instant],
    ["a zone east of Greenwich", "2024-01-02T08:34:05.678+05:30", instant],
    ["a zone west of Greenwich", "2024-01-01T19:04:05.678-0800", instant],
    ["hours alone as the zone", "2024-01-02T04:04:05.678+01", instant],
    ["one digit of fraction", "2024-01-02T03:04:05.6Z", instant - 78],
    ["no fraction", "2024-01-02T03:04:05Z", instant - 678],
    ["no seconds", "2024-01-02T03:04Z", instant - 5_678],
    ["a space for the T", "2024-01-02 03:04:05.678Z", instant],
    ["lower case", "2024-01-02t03:04:05.678z", instant],
    ["a date alone", "2024-01-02", Date.UTC(2024, 0, 2)],
    ["milliseconds since 1970", instant, instant],
    ["seconds since 1970", instant / 1_000, instant],
    ["29 February of a leap year", "2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
  ])("reads %s", (_title, given, expected) => {
    expect(readTimestamp(given)).toBe(expected);
  });

  it.each([
    "yesterday",
    "",
    "2024",
    "2024-13-01T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "2023-02-29",
    "2024-01-02T24:00:00Z",
    "2024-01-02T03:60:05Z",
    "2024-01-02T03:04:05+99:00",
    "2024-01-02T03:04:05Z; DROP TABLE",
    "0000-01-01T00:00:00+01:00",
    Number.NaN,
    Number.POSITIVE_INFINITY,
    9e15,
    true,
    null,
    {},
    ["2024-01-02"],
  ])("refuses %j", (given) => {
    expect(readTimestamp(given)).toBeUndefined();
  });

  it("reads back whatever a Date prints", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          expect(readTimestamp(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });

  it("answers any string with a date that prints as four-digit-year ISO, or nothing", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?[+-]\d{4}$/)),
        (text) => {
          const read = readTimestamp(text);
          expect(new Date(read ?? 0).toISOString()).toMatch(/^\d{4}-/);
        },
      ),
    );
  });
});

describe("correctClockSkew", () => {
  const receivedAt = Date.UTC(2026, 0, 1);

  it("takes the client's clock out of the time of the call", () => {
    const clientIsAnHourAhead = receivedAt + 3_600_000;
    const fiveSecondsBefore = clientIsAnHourAhead - 5_000;
    expect(
      correctClockSkew({ receivedAt, sentAt: clientIsAnHourAhead, originalTimestamp: fiveSecondsBefore }),
    ).toBe(receivedAt - 5_000);
  });

  it("keeps a historical time, to the latency of the request", () => {
    const sentAt = receivedAt - 40;
    const longAgo = Date.UTC(2011, 4, 5);
    expect(correctClockSkew({ receivedAt, sentAt, originalTimestamp: longAgo })).toBe(longAgo + 40);
  });

  it("keeps the client's time without sentAt, and uses the server's time if the call has none", () => {
    expect(correctClockSkew({ receivedAt, originalTimestamp: 5 })).toBe(5);
    expect(correctClockSkew({ receivedAt, sentAt: 5 })).toBe(receivedAt);
  });

  it("keeps the client's time when the result has no four-digit year, so that no call is lost over it", () => {
    const sentAt = readTimestamp("0001-01-01T00:00:00Z");
    const originalTimestamp = readTimestamp("9999-12-31T00:00:00Z");
    expect(correctClockSkew({ receivedAt, sentAt, originalTimestamp })).toBe(originalTimestamp);
    const last = readTimestamp("9999-12-31T23:59:59.999Z");
    expect(correctClockSkew({ receivedAt, sentAt: receivedAt - 40, originalTimestamp: last })).toBe(last);
  });
});
