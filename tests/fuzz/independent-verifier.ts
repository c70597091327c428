import { isUtf8 } from "node:buffer";
import { createHmac } from "node:crypto";

/** What the documented algorithm says of a request. */
export type IndependentResult =
  | {
      readonly ok: true;
      readonly over: "bytes" | "json";
      readonly secretIndex: number;
      readonly text: string;
    }
  | {
      readonly ok: false;
      readonly code: "ERR_SIGNATURE_MISSING" | "ERR_SIGNATURE_MALFORMED" | "ERR_SIGNATURE_MISMATCH";
    };

/** Beyond this the second form is not tried: SECURITY.md, "What is parsed before it is verified". */
export const SECOND_FORM_LIMIT = 131_072;

/**
 * Verification written a second time, from the spec (5.1) and SECURITY.md alone, in plain node:crypto. It shares no line
 * with the packages, and is as simple as it can be: it compares digests as text.
 */
export function independentVerify(
  body: Buffer,
  header: unknown,
  secrets: readonly string[],
  strict: boolean,
): IndependentResult {
  const value: unknown = Array.isArray(header) ? (header.length > 1 ? [] : header[0]) : header;
  if (value === undefined || value === null || value === "")
    return { ok: false, code: "ERR_SIGNATURE_MISSING" };
  if (
    typeof value !== "string" ||
    value.length !== 40 ||
    Array.from(value).some((digit) => !isHexDigit(digit))
  ) {
    return { ok: false, code: "ERR_SIGNATURE_MALFORMED" };
  }
  const digest = value.toLowerCase();
  const overBytes = secrets.findIndex((secret) => hexHmac(body, secret) === digest);
  if (overBytes >= 0) return { ok: true, over: "bytes", secretIndex: overBytes, text: body.toString("utf8") };
  const text = strict ? undefined : secondForm(body);
  if (text === undefined) return { ok: false, code: "ERR_SIGNATURE_MISMATCH" };
  const overJson = secrets.findIndex((secret) => hexHmac(Buffer.from(text), secret) === digest);
  if (overJson < 0) return { ok: false, code: "ERR_SIGNATURE_MISMATCH" };
  return { ok: true, over: "json", secretIndex: overJson, text };
}

/** The hex HMAC-SHA1 of bytes (spec 5.1). */
export function hexHmac(bytes: Uint8Array, secret: string): string {
  return createHmac("sha1", Buffer.from(secret, "utf8")).update(bytes).digest("hex");
}

/** `JSON.stringify(JSON.parse(body))` (spec 5.1); undefined where the body is no JSON text in UTF-8, or too large. */
function secondForm(body: Buffer): string | undefined {
  if (body.length > SECOND_FORM_LIMIT || !isUtf8(body)) return undefined;
  try {
    return JSON.stringify(JSON.parse(body.toString("utf8")));
  } catch {
    return undefined;
  }
}

function isHexDigit(digit: string): boolean {
  return "0123456789abcdefABCDEF".includes(digit);
}
