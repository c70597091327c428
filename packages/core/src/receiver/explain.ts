import {
  diagnose,
  diagnoseForm,
  MAX_DIAGNOSED_BYTES,
  PARSED_BEFORE,
} from "../verification/diagnose-signature.ts";
import type { Diagnosis } from "../verification/diagnosis.ts";
import { WebhookError } from "../errors.ts";
import { emitWarning } from "../process.ts";
import { MAX_REWRITTEN_BYTES } from "../verification/signature.ts";
import { mayExplain } from "./explanation-budget.ts";
import type { Progress } from "./progress.ts";

const UNEXPLAINED =
  "None of the usual causes applies: the sender has another secret, the request is a forgery, or a proxy changed " +
  "the body. Compare the secrets first, then compare receivedBody with the body that was sent.";

const UNEXAMINED =
  "Many requests are being rejected, so this one was not examined. See the hints of those before it.";

/** An error with its cause as its hint, and the causes. */
interface Explanation {
  readonly explained: WebhookError;
  readonly diagnoses: readonly Diagnosis[];
}

/** Why a signature was rejected, and the error with that as its hint. Any other error stays unchanged. */
export function explain(
  error: WebhookError,
  { header, secrets, body }: Progress,
  retiredSecrets: readonly string[],
): Explanation {
  let diagnoses: readonly Diagnosis[] = [];
  let hint: string | undefined;
  if (error.code === "ERR_SIGNATURE_MALFORMED") diagnoses = diagnoseForm(header);
  if (error.code === "ERR_SIGNATURE_MISMATCH" && body !== undefined && secrets !== undefined) {
    const size = body.bytes.length;
    if (size <= MAX_DIAGNOSED_BYTES && !mayExplain(size))
      return { explained: withHint(error, UNEXAMINED), diagnoses };
    diagnoses = diagnose({ body: body.bytes, signature: header, secret: secrets, retiredSecrets });
    if (diagnoses.length === 0 && body.received === undefined) diagnoses = [PARSED_BEFORE];
    if (size <= MAX_REWRITTEN_BYTES) hint = UNEXPLAINED;
  }
  hint = diagnoses[0]?.message ?? hint;
  return { explained: hint === undefined ? error : withHint(error, hint), diagnoses };
}

function withHint({ code, message, cause }: WebhookError, hint: string): WebhookError {
  return new WebhookError(code, { message, hint, cause });
}

/** Explains a rejection and warns of it, with its code and its cause, which contain neither the secret nor the body. */
export function explainWarning(
  error: WebhookError,
  progress: Progress,
  retiredSecrets: readonly string[],
): Explanation {
  const explanation = explain(error, progress, retiredSecrets);
  const { code, hint } = explanation.explained;
  const text = `A webhook was rejected: ${code}. ${hint} Set onRejected to handle every rejection instead of getting warnings`;
  if (code === "ERR_BODY_ALREADY_READ") emitWarning(`${text}.`, "COUNTERSIGN_BODY_READ");
  else emitWarning(`${text}. This warning appears at most once a minute.`, "COUNTERSIGN_SIGNATURE");
  return explanation;
}
