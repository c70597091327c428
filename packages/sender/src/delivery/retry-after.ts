/**
 * When a `Retry-After` header asks to be called again, in milliseconds since 1970; undefined when it says nothing
 * that can be understood. Both forms of RFC 9110, section 10.2.3: seconds and an HTTP date.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return now + Number(text) * 1_000;
  // Date.parse takes much else for a date. An HTTP date begins with the day's name.
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
