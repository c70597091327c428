import { debug } from "#platform";
import { quote } from "@countersign/protocol/json";
import type { WebhookError } from "../errors.ts";
import { emitWarning } from "../process.ts";

/** How long a warning of a wrong signature silences the next one, in ms: anyone can cause them. */
const QUIET_MS = 60_000;

// For the whole process: some apps create a receiver for each request.
const warned = new Set<string>();
let lastMismatchAt = Number.NEGATIVE_INFINITY;

/** Emits a process warning, the first time that there is reason to. */
function warnOnce(message: string, code: string): void {
  if (takeOnce(code)) emitWarning(message, code);
}

/** White space, or quotes as a value is written with in an .env file or a shell. */
const AROUND = /^\s|\s$|^(["'`]).*\1$/s;

/**
 * Emits the process warning `COUNTERSIGN_SECRET`, once in a process, if a secret has white space or quotes around it. They count as
 * part of the key, and are mostly there by accident: a line break at the end of a file, the quotes of an .env file.
 *
 * @param secrets - Secrets of either side: of a receiver, or of what signs.
 */
export function warnOfSecrets(secrets: readonly string[]): void {
  if (secrets.some((one) => AROUND.test(one)))
    warnOnce(
      "A webhook secret has white space or quotes around it. Remove them, unless the other side has them, too.",
      "COUNTERSIGN_SECRET",
    );
}

function takeOnce(code: string): boolean {
  if (warned.has(code)) return false;
  warned.add(code);
  return true;
}

/**
 * Whether a rejection without a hook causes a warning. It then counts as emitted, so that those which come in the meantime
 * cause no other.
 */
export function takeWarning({ code }: WebhookError): boolean {
  if (code === "ERR_BODY_ALREADY_READ") return takeOnce("COUNTERSIGN_BODY_READ");
  if (code !== "ERR_SIGNATURE_MISMATCH" && code !== "ERR_SIGNATURE_MALFORMED") return false;
  // A clock that was set back must not silence the warnings until it has caught up.
  const now = Date.now();
  if (Math.abs(now - lastMismatchAt) < QUIET_MS) return false;
  lastMismatchAt = now;
  return true;
}

/** With `NODE_DEBUG=countersign`, prints a verdict: never the secret, the body or any field of the message except its type. */
export function debugVerdict(verdict: string, type: string, more: string): void {
  if (debug.enabled) debug("%s", `${verdict} ${quote(type)}${more}`);
}

/** The same for a rejection. */
export function debugRejection({ status, code, hint }: WebhookError): void {
  if (debug.enabled) debug("%s", `rejected ${status} ${code}: ${hint}`);
}
