import { toUtf8 } from "#platform";
import { bodyTooLarge } from "./body-too-large.ts";
import { WebhookError } from "../errors.ts";
import type { ReadBody } from "../verification/verify-webhook.ts";

/** The rest of a body that was read: the value that a parser made of it, or nothing. */
export type ParsedBody =
  | { readonly from: "parsed"; readonly value: unknown; readonly hint?: string | undefined }
  | { readonly from: "gone"; readonly hint?: string | undefined };

/**
 * The body of a request that something else read before, and of which it kept a value or nothing.
 *
 * @throws WebhookError `ERR_BODY_ALREADY_READ` if nothing is left of it or, with `strict`, only the value.
 */
export function readParsedBody(
  body: ParsedBody,
  { maxBytes, strict }: { maxBytes: number; strict: boolean },
): ReadBody {
  if (body.from === "gone") throw alreadyRead(body.hint);
  if (strict) throw alreadyRead(withStrict(body.hint));
  const bytes = writtenAgain(body.value, body.hint);
  if (bytes.length > maxBytes) throw bodyTooLarge(maxBytes);
  return { bytes, received: undefined };
}

function withStrict(hint: string | undefined): string {
  return `Only a parsed body was kept, and with strict only the exact bytes count. ${hint ?? ""}`.trim();
}

function writtenAgain(value: unknown, hint: string | undefined): Uint8Array {
  try {
    return toUtf8(JSON.stringify(value, refuseInfinity));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw alreadyRead(hint, cause);
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "The parsed body cannot be the signed one: it is nested too deeply, or has a number that is too large for JSON.",
      cause,
    });
  }
}

// A number beyond the range of JSON, such as 1e400, is written as null: a signature over null must not vouch for it.
function refuseInfinity(_key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new RangeError("JSON cannot represent Infinity.");
  return value;
}

function alreadyRead(hint: string | undefined, cause?: unknown): WebhookError {
  return new WebhookError("ERR_BODY_ALREADY_READ", { ...(hint === undefined ? {} : { hint }), cause });
}
