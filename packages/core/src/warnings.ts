import { debug } from "#platform";
import { quote } from "@countersign/protocol";
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

/** Whether a refusal that no hook is told of is to be warned of now. */
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

/** Warns of a refusal: its code and hint, which hold neither the secret nor the body. */
export function warnOfRefusal({ code, hint }: WebhookError): void {
  const text = `A webhook was refused: ${code}. ${hint} Set onRejected to be told of every refusal instead of by warnings`;
  if (code === "ERR_BODY_ALREADY_READ") return warnOnce(`${text}.`, "COUNTERSIGN_BODY_READ");
  lastMismatchAt = Date.now();
  emitWarning(`${text}, of which there is at most one a minute.`, "COUNTERSIGN_SIGNATURE");
}

/** With `NODE_DEBUG=countersign`, prints a verdict: never the secret, the body or a field of the message but its type. */
export function debugVerdict(verdict: string, type: string, more: string): void {
  if (debug.enabled) debug("%s", `${verdict} ${quote(type)}${more}`);
}

/** The same for a refusal. */
export function debugRefusal({ status, code, hint }: WebhookError): void {
  if (debug.enabled) debug("%s", `rejected ${status} ${code}: ${hint}`);
}
