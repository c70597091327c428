import { isDate } from "./json.ts";

const ISO_8601 =
  /^(\d{4}-\d\d-\d\d)(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)? ?(?:Z|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?)?$/i;

/** Year 0 and year 9999: only times between them are written in four digits, as every receiver expects. */
const EARLIEST = -62_167_219_200_000;
const LATEST = 253_402_300_799_999;

/**
 * Reads a time: a `Date`, or ISO 8601 text with or without seconds, a fraction of up to nine digits, and an offset (`Z`,
 * `+02`, `+0200`, `+02:00`). Text without an offset is UTC, whatever the time zone of the machine. Digits beyond
 * milliseconds are cut off.
 *
 * @returns Milliseconds since 1970, or `undefined` for anything else: another form, a day that does not exist, a year
 *   outside 0 to 9999.
 * @example
 * ```ts
 * parseTimestamp("2026-01-31T08:30:00"); // 1769848200000
 * parseTimestamp("2026-02-30"); // undefined
 * ```
 */
export function parseTimestamp(value: unknown): number | undefined {
  const time = isDate(value) ? value.getTime() : typeof value === "string" ? parseIso(value) : Number.NaN;
  return isTimestamp(time) ? time : undefined;
}

/** Whether milliseconds since 1970 can be written as a timestamp: a year from 0 to 9999. */
export function isTimestamp(milliseconds: number): boolean {
  return milliseconds >= EARLIEST && milliseconds <= LATEST;
}

let lastSecond = Number.NaN;
let lastText = "";

/**
 * Writes a time as messages carry it: ISO 8601 in UTC with milliseconds (spec 2.2).
 *
 * @param milliseconds - Since 1970.
 * @throws RangeError if they are not a time.
 */
export function formatTimestamp(milliseconds: number): string {
  // Many are written in a second, and writing a whole one is a tenth of the work of a call.
  const time = Math.trunc(milliseconds);
  const second = Math.floor(time / 1_000);
  if (second !== lastSecond) {
    lastText = new Date(time).toISOString().slice(0, -"000Z".length);
    lastSecond = second;
  }
  return `${lastText}${String(time - second * 1_000).padStart(3, "0")}Z`;
}

/** How many characters a time has as {@link formatTimestamp} writes it, which is how most clients write it. */
const USUAL_LENGTH = 24;

function parseIso(text: string): number {
  if (text.length === USUAL_LENGTH) {
    const time = Date.parse(text);
    // Nothing else is written back as it was: no other form, and no day that does not exist.
    if (!Number.isNaN(time) && formatTimestamp(time) === text) return time;
  }
  const [
    ,
    date = "",
    hour = "00",
    minute = "00",
    second = "00",
    fraction = "",
    sign = "+",
    hours = "00",
    minutes = "00",
  ] = ISO_8601.exec(text) ?? [];
  const day = Date.parse(date);
  // Date.parse reads 30 February as 1 or 2 March.
  if (Number.isNaN(day) || !formatTimestamp(day).startsWith(date)) return Number.NaN;
  const millisecond = fraction.slice(0, 3).padEnd(3, "0");
  return Date.parse(`${date}T${hour}:${minute}:${second}.${millisecond}${sign}${hours}:${minutes}`);
}
