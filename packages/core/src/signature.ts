import { equalDigests, hmac } from "#hmac";
import { fromHex, toHex, toUtf8 } from "./bytes.ts";
import { reserialize } from "./json.ts";

/** The value of an `X-Signature` header as frameworks give it: absent, one value, or several. */
export type SignatureHeader = string | readonly string[] | null | undefined;

/** One secret, or several of which any may match (rotation). */
export type Secrets = string | readonly string[];

/**
 * What a signature was found to match: the exact bytes received, or their JSON written again by
 * `JSON.stringify(JSON.parse(body))`. `'none'` stands for a message accepted without a signature.
 */
export type VerifiedOver = "bytes" | "json" | "none";

/** The answer of {@link verifySignature}. */
export type SignatureResult =
  | {
      readonly ok: true;
      /** Which of the secrets matched, counted from 0. */
      readonly secretIndex: number;
      readonly verifiedOver: "bytes" | "json";
    }
  | {
      readonly ok: false;
      readonly code: "ERR_SIGNATURE_MISSING" | "ERR_SIGNATURE_MALFORMED" | "ERR_SIGNATURE_MISMATCH";
    };

const HEX_DIGEST = /^[0-9a-f]{40}$/i;

/**
 * Signs a body the way the service does: the hex HMAC-SHA1 of its exact bytes (spec 5.1).
 *
 * @param body - The exact body: bytes, or text that is taken as UTF-8.
 * @param secret - The shared secret, taken as UTF-8. Not empty.
 * @returns 40 lower-case hex digits, the value of `X-Signature`.
 * @throws TypeError if the body is neither text nor bytes, or the secret is not a non-empty string.
 * @example
 * ```ts
 * sign("{}", "secret"); // "5d61605c3feea9799210ddcb71307d4ba264225f"
 * ```
 */
export function sign(body: string | Uint8Array, secret: string): string {
  checkSecret(secret);
  return toHex(hmac("sha1", toUtf8(secret), bodyBytes(body)));
}

/**
 * Tells whether a signature belongs to a body. First the exact bytes are tried; where they do not match and the
 * body is JSON, its re-serialised form, which is what the spec documents (5.1, item 4) and what saves a receiver
 * behind a proxy that re-spaces JSON.
 *
 * @param body - The exact body as received: bytes, or text that is taken as UTF-8.
 * @param signature - The `X-Signature` header. Hex digits of either case; anything else is malformed.
 * @param secret - The shared secret, or a list of which any may match.
 * @param options - `strict: true` accepts the exact bytes alone.
 * @returns Which secret matched over what, or the code of the failure. Hostile input never throws.
 * @throws TypeError if the body is neither text nor bytes, or a secret is not a non-empty string.
 * @example
 * ```ts
 * const result = verifySignature(rawBody, request.headers["x-signature"], ["new secret", "old secret"]);
 * if (!result.ok) throw new Error(result.code);
 * ```
 */
export function verifySignature(
  body: string | Uint8Array,
  signature: SignatureHeader,
  secret: Secrets,
  options: { readonly strict?: boolean } = {},
): SignatureResult {
  const keys = secretList(secret).map(toUtf8);
  const bytes = bodyBytes(body);
  const header = readSignature(signature);
  if (!header.ok) return header;
  const digest = fromHex(header.hex);

  const secretIndex = matchingKey(bytes, digest, keys);
  if (secretIndex !== -1) return { ok: true, secretIndex, verifiedOver: "bytes" };

  const rewritten = options.strict ? undefined : reserialize(bytes);
  if (rewritten !== undefined) {
    const rewrittenIndex = matchingKey(toUtf8(rewritten), digest, keys);
    if (rewrittenIndex !== -1) return { ok: true, secretIndex: rewrittenIndex, verifiedOver: "json" };
  }
  return { ok: false, code: "ERR_SIGNATURE_MISMATCH" };
}

/** The one signature in the header, in lower-case hex; or why there is none. A repeated header is malformed, never "the first". */
export function readSignature(
  header: SignatureHeader,
):
  | { readonly ok: true; readonly hex: string }
  | { readonly ok: false; readonly code: "ERR_SIGNATURE_MISSING" | "ERR_SIGNATURE_MALFORMED" } {
  // What a platform calls a header may be anything at run time; only text is ever decoded.
  const value: unknown = Array.isArray(header) && header.length < 2 ? header[0] : header;
  if (value == null || value === "") return { ok: false, code: "ERR_SIGNATURE_MISSING" };
  if (typeof value !== "string" || !HEX_DIGEST.test(value)) {
    return { ok: false, code: "ERR_SIGNATURE_MALFORMED" };
  }
  return { ok: true, hex: value.toLowerCase() };
}

/** The secrets as a list. @throws TypeError for an empty list, or anything but non-empty strings in it. */
export function secretList(secret: Secrets): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new TypeError("The secret must be a non-empty string or a non-empty list of them.");
  }
  for (const one of secrets) checkSecret(one);
  return secrets;
}

function matchingKey(bytes: Uint8Array, digest: Uint8Array, keys: readonly Uint8Array[]): number {
  return keys.findIndex((key) => equalDigests(hmac("sha1", key, bytes), digest));
}

function checkSecret(secret: unknown): asserts secret is string {
  if (typeof secret === "string" && secret !== "") return;
  throw new TypeError(
    `The secret must be a non-empty string, but is ${secret === "" ? "empty" : typeof secret}.`,
  );
}

/** The bytes of a body. @throws TypeError if it is neither text nor bytes. */
export function bodyBytes(body: unknown): Uint8Array {
  if (typeof body === "string") return toUtf8(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError(
    `The body must be the exact bytes or text that was sent, but is ${body === null ? "null" : typeof body}. ` +
      "Pass the raw body; a parsed object no longer has the bytes that were signed.",
  );
}
