import { REJECTS_FORGED } from "../audits/foundations.ts";
import { rejectsForgeries } from "../audits/rejects-forgeries.ts";
import type { AuditResult } from "./report.ts";

/** Audits whose requests only somebody who knows the secret can send: to accept them is a fault, and no forgery. */
const SIGNED_IN_ANOTHER_FORM: ReadonlySet<string> = new Set([
  "rejects-sha256-signature",
  "rejects-base64-signature",
  "rejects-prefixed-signature",
]);

const forgeries: ReadonlySet<string> = new Set([
  ...REJECTS_FORGED,
  ...rejectsForgeries.map(({ id }) => id).filter((id) => !SIGNED_IN_ANOTHER_FORM.has(id)),
]);

/**
 * Whether a result says that the receiver accepted a message from a sender that does not know the secret. That is worse
 * than every other failure.
 *
 * @example
 * ```ts
 * const report = await certify({ url, secret });
 * if (report.results.some(isAcceptedForgery)) console.error("anyone can send messages to this receiver");
 * ```
 */
export function isAcceptedForgery(result: AuditResult): boolean {
  return result.outcome === "failed" && forgeries.has(result.id) && /^2\d\d /.test(result.failure.received);
}
