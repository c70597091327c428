import { debug } from "#platform";
import { quote } from "@countersign/protocol/json";
import type { WebhookError } from "./errors.ts";
import { emitWarning } from "./process.ts";

/** A mismatch is explained for a warning only up to this size: it costs several hashes of the body. */
const MAX_EXPLAINED_BYTES = 65_536;

/** How long a warning of a wrong signature silences the next one, in ms: anyone can cause them. */
const QUIET_MS = 60_000;

// For the whole process: some apps create a receiver for each request.
const warned = new Set<string>();
let lastMismatchAt = Number.NEGATIVE_INFINITY;

/** Emits a process warning, the first time that there is reason to. */
export function warnOnce(message: string, code: string): void {
  if (warned.has(code)) return;
  warned.add(code);
  emitWarning(message, code);
}

/** Whether a rejection without a hook should cause a warning now. */
export function isWarningDue({ code }: WebhookError): boolean {
  if (code === "ERR_BODY_ALREADY_READ") return !warned.has("COUNTERSIGN_BODY_READ");
  if (code !== "ERR_SIGNATURE_MISMATCH" && code !== "ERR_SIGNATURE_MALFORMED") return false;
  // A clock that was set back must not silence the warnings until it has caught up.
  return Math.abs(Date.now() - lastMismatchAt) >= QUIET_MS;
}

/** Whether the cause of a mismatch may be looked for, for a warning. */
export function isCheapToExplain(body: Uint8Array | undefined): boolean {
  return (body?.length ?? 0) <= MAX_EXPLAINED_BYTES;
}

/** Warns about a rejection, with its code and hint, which contain neither the secret nor the body. */
export function warnOfRefusal({ code, hint }: WebhookError): void {
  const text = `A webhook was rejected: ${code}. ${hint} Set onRejected to handle every rejection instead of getting warnings`;
  if (code === "ERR_BODY_ALREADY_READ") return warnOnce(`${text}.`, "COUNTERSIGN_BODY_READ");
  lastMismatchAt = Date.now();
  emitWarning(`${text}. This warning appears at most once a minute.`, "COUNTERSIGN_SIGNATURE");
}

/** With `NODE_DEBUG=countersign`, prints a verdict: never the secret, the body or any field of the message except its type. */
export function debugVerdict(verdict: string, type: string, more: string): void {
  if (debug.enabled) debug("%s", `${verdict} ${quote(type)}${more}`);
}

/** The same for a rejection. */
export function debugRefusal({ status, code, hint }: WebhookError): void {
  if (debug.enabled) debug("%s", `rejected ${status} ${code}: ${hint}`);
}
