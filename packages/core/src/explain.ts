import { diagnose, diagnoseForm, PARSED_BEFORE, type Diagnosis } from "./diagnose.ts";
import { WebhookError } from "./errors.ts";
import { MAX_REWRITTEN_BYTES } from "./signature.ts";
import type { ReadBody } from "./verify-webhook.ts";

const UNEXPLAINED =
  "None of the usual causes explains it: the sender has another secret, the request is a forgery, or a proxy changed " +
  "the body. Compare the secrets first, then compare receivedBody with the body that was sent.";

/** What is known about the rejected request. */
export interface Refused {
  readonly header: string | undefined;
  readonly secrets?: readonly string[];
  readonly body?: ReadBody;
}

/** Why a signature was rejected, and the error with that as its hint. Any other error stays unchanged. */
export function explain(
  error: WebhookError,
  { header, secrets, body }: Refused,
  retiredSecrets: readonly string[],
): { readonly explained: WebhookError; readonly diagnoses: readonly Diagnosis[] } {
  let diagnoses: readonly Diagnosis[] = [];
  let hint: string | undefined;
  if (error.code === "ERR_SIGNATURE_MALFORMED") diagnoses = diagnoseForm(header);
  if (error.code === "ERR_SIGNATURE_MISMATCH" && body !== undefined && secrets !== undefined) {
    diagnoses = diagnose({ body: body.bytes, signature: header, secret: secrets, retiredSecrets });
    if (diagnoses.length === 0 && body.received === undefined) diagnoses = [PARSED_BEFORE];
    if (body.bytes.length <= MAX_REWRITTEN_BYTES) hint = UNEXPLAINED;
  }
  hint = diagnoses[0]?.message ?? hint;
  if (hint === undefined) return { explained: error, diagnoses };
  const { code, message, cause } = error;
  return { explained: new WebhookError(code, { message, hint, cause }), diagnoses };
}
