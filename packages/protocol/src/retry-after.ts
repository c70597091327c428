/** The three forms of an HTTP date (RFC 9110, 5.6.7) begin with the name of the day; `Date.parse` would read much else. */
const HTTP_DATE = /^[A-Z][a-z]{2,8},? /;
const ZONE = /(?:GMT|UTC|[+-]\d{4})$/;

/**
 * Reads a `Retry-After` header: seconds, or an HTTP date (RFC 9110, 10.2.3).
 *
 * @param value - The header's value.
 * @param now - The time, in milliseconds since 1970.
 * @param date - The `Date` header of the same answer. A date in `Retry-After` is then measured against the server's own
 *   clock, since one of the two machines may be off.
 * @returns Milliseconds to wait, 0 for a time that has passed, or `undefined` for a header that is absent or means nothing.
 * @example
 * ```ts
 * parseRetryAfter("120", Date.now()); // 120000
 * ```
 */
export function parseRetryAfter(
  value: string | null | undefined,
  now: number,
  date?: string | null,
): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, Number.MAX_SAFE_INTEGER);
  const until = parseHttpDate(text);
  if (until === undefined) return undefined;
  return Math.max(0, until - (parseHttpDate(date?.trim() ?? "") ?? now));
}

function parseHttpDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined;
  // The oldest form names no zone and is UTC; without one, Date.parse would take the machine's.
  const time = Date.parse(ZONE.test(text) ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time;
}
