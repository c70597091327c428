import assert from "node:assert/strict";
import { formatTimestamp, parseRetryAfter, parseTimestamp } from "@countersign/protocol";
import fc from "fast-check";
import { fuzzTarget, type FuzzTarget } from "./harness.ts";
import { jsonText, jsonValue } from "./json-values.ts";

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LONG_DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MINUTE = 60_000;
const YEAR_2049 = Date.UTC(2049, 11, 31);

const pad = (number: number, width = 2): string => String(number).padStart(width, "0");

/** The three forms of an HTTP date (RFC 9110, 5.6.7), written by hand. */
const HTTP_DATES: readonly ((time: Date) => string)[] = [
  (time) =>
    `${DAYS[time.getUTCDay()]}, ${pad(time.getUTCDate())} ${month(time)} ${time.getUTCFullYear()} ${clock(time)} GMT`,
  (time) =>
    `${LONG_DAYS[time.getUTCDay()]}, ${pad(time.getUTCDate())}-${month(time)}-${pad(time.getUTCFullYear() % 100)} ${clock(time)} GMT`,
  (time) =>
    `${DAYS[time.getUTCDay()]} ${month(time)} ${String(time.getUTCDate()).padStart(2)} ${clock(time)} ${time.getUTCFullYear()}`,
];

function month(time: Date): string {
  return MONTHS[time.getUTCMonth()] ?? "";
}

function clock(time: Date): string {
  return `${pad(time.getUTCHours())}:${pad(time.getUTCMinutes())}:${pad(time.getUTCSeconds())}`;
}

const seconds = fc.nat(YEAR_2049 / 1_000).map((count) => count * 1_000);
const httpDate = fc.record({ time: seconds, form: fc.nat(2) });
const retryAfterInput = fc.oneof(
  fc.record({ kind: fc.constant("seconds" as const), text: fc.stringMatching(/^ {0,2}\d{1,25} {0,2}$/) }),
  fc.record({
    kind: fc.constant("date" as const),
    until: httpDate,
    date: fc.option(httpDate, { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant("junk" as const),
    text: fc.oneof(
      jsonText,
      fc.constantFrom(
        "-1",
        "1.5",
        "1e3",
        "+5",
        "0x10",
        "١",
        "Infinity",
        "2026-01-01",
        "1 2",
        "tomorrow",
        "Mon",
      ),
      fc.stringMatching(/^[A-Za-z]{0,9},? ?[\d\- :]{0,20}( GMT)?$/),
    ),
  }),
);

/** `Retry-After` is seconds or an HTTP date, measured by the server's own clock; all else means nothing. */
const retryAfter = fuzzTarget({
  name: "Retry-After",
  share: 80,
  input: fc.tuple(retryAfterInput, seconds),
  check([given, now]) {
    if (given.kind === "seconds") {
      const expected = Math.min(Number(given.text.trim()) * 1_000, Number.MAX_SAFE_INTEGER);
      assert.equal(parseRetryAfter(given.text, now), expected);
    } else if (given.kind === "date") {
      const date = given.date === undefined ? undefined : written(given.date);
      const from = given.date?.time ?? now;
      assert.equal(parseRetryAfter(written(given.until), now, date), Math.max(0, given.until.time - from));
    } else {
      const wait = parseRetryAfter(given.text, now);
      const isDelay = wait !== undefined && Number.isSafeInteger(wait) && wait >= 0;
      assert.ok(wait === undefined || isDelay, `waits for ${wait}`);
      if (!/^\s*(?:\d+|[A-Z][a-z]{2,8},? .*)\s*$/s.test(given.text)) assert.equal(wait, undefined);
    }
  },
});

function written({ time, form }: { readonly time: number; readonly form: number }): string {
  return HTTP_DATES[form]?.(new Date(time)) ?? "";
}

const part = (max: number): fc.Arbitrary<number> =>
  fc.oneof(fc.nat(max), fc.constantFrom(0, 1, max, max + 1));
const zoned = fc.oneof(
  fc.constantFrom("", "Z", "z", " Z"),
  fc
    .record({ sign: fc.constantFrom("+", "-"), hours: part(23), minutes: part(59), form: fc.nat(2) })
    .map(
      ({ sign, hours, minutes, form }) => sign + pad(hours) + [`:${pad(minutes)}`, pad(minutes), ""][form],
    ),
);
const dateTime = fc.record({
  year: fc.oneof(fc.integer({ min: 1_970, max: 2_100 }), part(9_999)),
  month: part(12),
  day: part(31),
  hour: part(23),
  minute: part(59),
  second: part(59),
  fraction: fc.stringMatching(/^(?:[.,]\d{0,10})?$/),
  separator: fc.constantFrom("T", " ", "t", "_"),
  zone: zoned,
  form: fc.nat(2),
});
type DateTime = typeof dateTime extends fc.Arbitrary<infer T> ? T : never;

/** A time is what the calendar says it is, to the millisecond, in any zone; what is no time is none. */
const timestamps = fuzzTarget({
  name: "timestamps",
  share: 85,
  input: fc.oneof(
    { weight: 6, arbitrary: dateTime },
    { weight: 1, arbitrary: fc.date({ noInvalidDate: false }) },
    { weight: 1, arbitrary: jsonValue },
  ),
  check(input) {
    if (isDateTime(input)) {
      const time = parseTimestamp(asText(input));
      assert.equal(time, byCalendar(input), asText(input));
      if (time !== undefined) assert.equal(parseTimestamp(formatTimestamp(time)), time);
    } else if (input instanceof Date) {
      const time = input.getTime();
      const fits = input.getUTCFullYear() >= 0 && input.getUTCFullYear() <= 9_999;
      assert.equal(parseTimestamp(input), fits ? time : undefined);
    } else {
      const time = parseTimestamp(input);
      assert.ok(
        time === undefined || typeof input === "string",
        `${JSON.stringify(input)} is read as ${time}`,
      );
    }
  },
});

function isDateTime(input: unknown): input is DateTime {
  return typeof input === "object" && input !== null && "separator" in input && "zone" in input;
}

function asText({
  year,
  month,
  day,
  hour,
  minute,
  second,
  fraction,
  separator,
  zone,
  form,
}: DateTime): string {
  const date = `${pad(year, 4)}-${pad(month)}-${pad(day)}`;
  if (form === 0) return date;
  const time = `${pad(hour)}:${pad(minute)}${form === 1 ? "" : `:${pad(second)}${fraction}`}`;
  return `${date}${separator}${time}${zone}`;
}

/** The same time by counting days, without `Date.parse`. */
function byCalendar(input: DateTime): number | undefined {
  const { year, month, day, hour, minute, second, fraction, separator, form } = input;
  const daysInMonth = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  if (year > 9_999 || daysInMonth === undefined || day < 1 || day > daysInMonth) return undefined;
  const days = daysBefore(year, month) + day - 1 - daysBefore(1_970, 1);
  if (form === 0) return days * 24 * 60 * MINUTE;
  if (separator === "_" || hour > 23 || minute > 59) return undefined;
  if (form === 2 && (second > 59 || fraction.length === 1 || fraction.length > 10)) return undefined;
  const offset = offsetOf(input.zone);
  if (offset === undefined) return undefined;
  const milliseconds =
    form === 1 ? 0 : second * 1_000 + Number(`0.${fraction.slice(1, 4).padEnd(3, "0")}`) * 1_000;
  const time = ((days * 24 + hour) * 60 + minute - offset) * MINUTE + Math.round(milliseconds);
  const isOutside =
    time < -daysBefore(1_970, 1) * 24 * 60 * MINUTE ||
    time >= (daysBefore(10_000, 1) - daysBefore(1_970, 1)) * 24 * 60 * MINUTE;
  return isOutside ? undefined : time;
}

/** Minutes east of UTC. */
function offsetOf(zone: string): number | undefined {
  const digits = zone.replaceAll(/[^\d]/g, "");
  if (digits === "") return 0;
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2) || "0")];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.includes("-") ? -1 : 1) * (hours * 60 + minutes);
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** Days from 1 January of year 0 to the first of a month. */
function daysBefore(year: number, month: number): number {
  const leapDays =
    year === 0
      ? 0
      : Math.floor((year - 1) / 4) - Math.floor((year - 1) / 100) + Math.floor((year - 1) / 400) + 1;
  const months = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].slice(0, month - 1);
  return year * 365 + leapDays + months.reduce((sum, days) => sum + days, 0);
}

export const timeTargets: readonly FuzzTarget[] = [retryAfter, timestamps];
