const iso8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?$/i;

/**
 * The given time as ISO 8601 in UTC with milliseconds, or `undefined` if it is not a time. Stricter than `Date.parse`,
 * which takes "1" and 30 February, and reads a string without an offset in the host's time zone.
 */
export function toTimestamp(value: unknown): string | undefined {
  const time =
    value instanceof Date ? value.getTime() : typeof value === "string" ? parse(value) : Number.NaN;
  // toISOString writes years beyond 9999 in a form that is not RFC 3339.
  return time >= -62_167_219_200_000 && time <= 253_402_300_799_999
    ? new Date(time).toISOString()
    : undefined;
}

let lastTime = Number.NaN;
let lastText = "";

/** As `toISOString`, for times that come many a millisecond. */
export function formatTime(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}

function parse(text: string): number {
  const parts = iso8601.exec(text);
  if (!parts) return Number.NaN;
  const number = (index: number): number => Number(parts[index] ?? 0);
  const [year, month, day, hour, minute, second] = [
    number(1),
    number(2),
    number(3),
    number(4),
    number(5),
    number(6),
  ];
  const offsetHours = number(9);
  const offsetMinutes = number(10);

  const date = new Date(0);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have falls into another month.
  if (date.getUTCMonth() !== month - 1) return Number.NaN;
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return Number.NaN;

  const milliseconds = Number((parts[7] ?? "").padEnd(3, "0").slice(0, 3));
  date.setUTCHours(hour, minute, second, milliseconds);
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000;
  return date.getTime() - (parts[8] === "-" ? -offset : offset);
}
