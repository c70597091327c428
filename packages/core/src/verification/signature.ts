import { fromUtf8, isSignedWith, signatureOf, toUtf8 } from "#platform";
import { isBytes, nameKind } from "@countersign/protocol/json";
import type { hasOneForm } from "./compact-json.ts";
import { useOnDemand } from "./on-demand.ts";

/** The value of an `X-Signature` header as frameworks give it: absent, one value, or several. */
export type SignatureHeader = string | readonly string[] | null | undefined;

/** One secret, or several of which any may match (rotation). */
export type Secrets = string | readonly string[];

/**
 * The form that a signature matches: the exact bytes received, or their JSON serialised again by
 * `JSON.stringify(JSON.parse(body))`. `'none'`: the message was accepted without a signature.
 */
export type VerifiedOver = "bytes" | "json" | "none";

/** The result of {@link verifySignature}. */
export type SignatureResult =
  | {
      readonly ok: true;
      /** The index of the secret that matched. */
      readonly secretIndex: number;
      readonly verifiedOver: "bytes" | "json";
    }
  | {
      readonly ok: false;
      readonly code: "ERR_SIGNATURE_MISSING" | "ERR_SIGNATURE_MALFORMED" | "ERR_SIGNATURE_MISMATCH";
    };

// Only a signature that does not match needs it, and only to save time: it is loaded by the first, which does without it.
let isOneForm: typeof hasOneForm | undefined;
let loading: Promise<void> | undefined;

const HEX_DIGEST = /^[0-9a-f]{40}$/i;

/**
 * The largest body whose second form is tried, in bytes. A message is 64 KB at most, so one that a proxy escaped or
 * indented fits. Without a limit, 1 MiB of brackets and 40 arbitrary digits would cost a forger nothing and the receiver
 * a tenth of a second.
 */
export const MAX_REWRITTEN_BYTES: number = 131_072;

/**
 * Signs a body the way the service does: the hex HMAC-SHA1 of its exact bytes (spec 5.1).
 *
 * @param body - The exact body: bytes, or text, which is encoded as UTF-8.
 * @param secret - The shared secret, encoded as UTF-8. Not empty.
 * @returns 40 lower-case hex digits, the value of `X-Signature`.
 * @throws TypeError if the body is neither text nor bytes, or the secret is not a non-empty string.
 * @example
 * ```ts
 * sign("{}", "secret"); // "5d61605c3feea9799210ddcb71307d4ba264225f"
 * ```
 */
export function sign(body: string | Uint8Array, secret: string): string {
  checkSecret(secret);
  return signatureOf(secret, bodyBytes(body));
}

/**
 * Checks a signature. It compares the exact bytes first. If they do not match and the body is JSON of at most 128 KiB, it
 * compares `JSON.stringify(JSON.parse(body))`, which is the algorithm that the service documents (spec 5.1). A receiver
 * behind a proxy that re-spaces JSON needs it.
 *
 * @param body - The exact body as received: bytes, or text, which is encoded as UTF-8.
 * @param signature - The `X-Signature` header. Hex digits of either case; anything else is malformed.
 * @param secret - The shared secret, or a list of secrets any of which may match.
 * @param options - `strict: true` compares only the exact bytes.
 * @returns The secret and the form that matched, or the code of the failure. Hostile input never throws.
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
  options: { readonly strict?: boolean | undefined } = {},
): SignatureResult {
  const secrets = secretList(secret);
  const bytes = bodyBytes(body);
  const header = readSignature(signature);
  if (!header.ok) return header;
  const match = matchSignature(bytes, header.hex, secrets, options.strict ?? false);
  if (match === undefined) return { ok: false, code: "ERR_SIGNATURE_MISMATCH" };
  return { ok: true, secretIndex: match.secretIndex, verifiedOver: match.verifiedOver };
}

/** Which secret a signature matches, and the bytes it covers. */
export interface SignatureMatch {
  readonly secretIndex: number;
  readonly verifiedOver: "bytes" | "json";
  readonly covered: Uint8Array;
}

/** Compares the exact bytes and, unless `strict`, the second form of a body that is not too large for it. */
export function matchSignature(
  bytes: Uint8Array,
  hex: string,
  secrets: readonly string[],
  strict: boolean,
): SignatureMatch | undefined {
  const secretIndex = matchingSecret(bytes, hex, secrets);
  if (secretIndex !== -1) return { secretIndex, verifiedOver: "bytes", covered: bytes };
  if (strict || bytes.length > MAX_REWRITTEN_BYTES) return undefined;

  // Compact JSON, as most forgeries are, is its own second form: it has been compared.
  if (isOneForm?.(bytes)) return undefined;
  loading ??= useOnDemand(
    () => import("./compact-json.ts"),
    ({ hasOneForm }) => (isOneForm = hasOneForm),
  );
  const text = fromUtf8(bytes);
  const rewritten = reserialize(text);
  if (rewritten === undefined || rewritten === text) return undefined;
  const covered = toUtf8(rewritten);
  const rewrittenIndex = matchingSecret(covered, hex, secrets);
  return rewrittenIndex === -1 ? undefined : { secretIndex: rewrittenIndex, verifiedOver: "json", covered };
}

/**
 * A body's text serialised again as `JSON.stringify(JSON.parse(text))`, the second form that a signature may
 * match.
 *
 * @returns The text, or undefined if the body is not UTF-8, not JSON, or nested too deep to be written.
 */
export function reserialize(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    // A SyntaxError, or the RangeError of a writer that ran out of stack on a hostile depth.
    return undefined;
  }
}

/** The one signature in the header, in lower-case hex, or the code of what is wrong. A repeated header is malformed. */
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

function matchingSecret(bytes: Uint8Array, hex: string, secrets: readonly string[]): number {
  let index = 0;
  for (const secret of secrets) {
    if (isSignedWith(secret, bytes, hex)) return index;
    index += 1;
  }
  return -1;
}

function checkSecret(secret: unknown): asserts secret is string {
  if (typeof secret === "string" && secret !== "") return;
  throw new TypeError(
    `The secret must be a non-empty string, but is ${secret === "" ? "empty" : nameKind(secret)}.`,
  );
}

/** The bytes of a body. @throws TypeError if it is neither text nor bytes. */
export function bodyBytes(body: unknown): Uint8Array {
  if (typeof body === "string") return toUtf8(body);
  if (isBytes(body)) return body;
  throw new TypeError(
    `The body must be the exact bytes or text that was sent, but is ${nameKind(body)}. ` +
      "Pass the raw body, not a parsed object.",
  );
}
