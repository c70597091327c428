import { answerLine, NO_ANSWER_CODES, type AttemptFacts } from "@countersign/sender/explain";
import { printable } from "./terminal.ts";

/** Codes whose words do not have what the message of the attempt has: the answer of the proxy, the names of the certificate. */
const MESSAGE_HAS_MORE: ReadonlySet<string> = new Set([
  "ERR_ADDRESS_BLOCKED",
  "ERR_PROXY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_TRANSPORT",
  "UND_ERR_INVALID_ARG",
]);

/**
 * What was said about a failed attempt, as text that is safe for a terminal: by the receiver, or in place of it by a proxy, or by the
 * error of a code without words of its own.
 */
export function saidOf(attempt: AttemptFacts): string | undefined {
  const line = answerLine(attempt);
  if (line !== undefined) return printable(line);
  const { status, code = "", message } = attempt;
  const hasWords = Object.hasOwn(NO_ANSWER_CODES, code) && !MESSAGE_HAS_MORE.has(code);
  return status !== undefined || hasWords || message === undefined ? undefined : printable(message);
}
