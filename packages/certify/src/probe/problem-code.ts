import type { WebhookErrorCode } from "@countersign/core";
import type { Answer } from "../wire/exchange.ts";

/** Every code, as the compiler checks. Other programs have codes of this form, too, such as those of Node. */
const CODES: Readonly<Record<WebhookErrorCode, true>> = {
  ERR_METHOD_NOT_ALLOWED: true,
  ERR_MEDIA_TYPE: true,
  ERR_CONTENT_ENCODING: true,
  ERR_BODY_TOO_LARGE: true,
  ERR_BODY_FRAGMENTED: true,
  ERR_BODY_ABORTED: true,
  ERR_BODY_ALREADY_READ: true,
  ERR_SIGNATURE_MISSING: true,
  ERR_SIGNATURE_MALFORMED: true,
  ERR_SIGNATURE_MISMATCH: true,
  ERR_INVALID_UTF8: true,
  ERR_INVALID_JSON: true,
  ERR_BATCH_UNSUPPORTED: true,
  ERR_UNKNOWN_TYPE: true,
  ERR_INVALID_MESSAGE: true,
  ERR_DUPLICATE_IN_FLIGHT: true,
};

/** The code of a receiver of `@countersign/core` that has rejected a request: its problem document has one. */
export function problemCodeOf(answer: Answer | undefined): WebhookErrorCode | undefined {
  const found = /"code":"(ERR_\w+)"/u.exec(answer?.body ?? "")?.[1] ?? "";
  return isCode(found) ? found : undefined;
}

function isCode(text: string): text is WebhookErrorCode {
  return Object.hasOwn(CODES, text);
}
