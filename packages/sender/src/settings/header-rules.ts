/** Headers that the sender or the HTTP client writes. Static headers cannot set them (spec 4.1). */
const RESERVED: ReadonlySet<string> = new Set([
  "user-agent",
  "content-type",
  "x-signature",
  "host",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "expect",
]);

/** A token of RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Visible characters, spaces, tabs and Latin-1 (RFC 9110, section 5.5): no line break, no NUL. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What is wrong with a static header; undefined when nothing is. */
export function headerProblem(name: string, value: unknown): string | undefined {
  if (!TOKEN.test(name)) return "is not a valid header name.";
  if (RESERVED.has(name.toLowerCase())) return "is set by the sender itself and cannot be given.";
  if (typeof value !== "string") return "must have a string as its value.";
  if (!FIELD_VALUE.test(value))
    return "has a value with a line break or another character that HTTP does not allow.";
  return undefined;
}
