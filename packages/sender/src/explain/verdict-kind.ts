import { hasStatusClass, type AttemptFacts, type ExplainContext } from "./attempt-facts.ts";

/**
 * What an attempt shows about its receiver.
 *
 * | kind | meaning |
 * |---|---|
 * | `delivered` | it accepted the message |
 * | `failed` | it did not accept the message |
 * | `refused_forgery` | it rejected a forged signature, as it should |
 * | `accepted_forgery` | **it accepted a forged signature** |
 * | `accepted_fragment` | it accepted half a message |
 * | `injected` | the attempt failed because a fault made it fail |
 */
export type VerdictKind =
  | "delivered"
  | "failed"
  | "refused_forgery"
  | "accepted_forgery"
  | "accepted_fragment"
  | "injected";

const FORGERIES: ReadonlySet<string> = new Set(["bad_signature", "missing_signature", "stale_secret"]);
const CUTS: ReadonlySet<string> = new Set(["truncated", "reset"]);
/** Statuses that reject the message. The first two say that the signature is the reason. */
const REJECTING: ReadonlySet<number> = new Set([401, 403, 400, 422]);
/** Faults in whose attempts the receiver has no say. */
const WITHOUT_RECEIVER = /^(?:timeout|refused|status:\d{3})$/;

/** Whether a fault forges the signature. */
export function isForgery(fault: string | undefined): boolean {
  return fault !== undefined && FORGERIES.has(fault);
}

/**
 * The kind of {@link verdictOf}, without its text.
 *
 * @param context `signed: false` if the destination has no secret.
 */
export function verdictKindOf(
  { fault, outcome, status }: Pick<AttemptFacts, "fault" | "outcome" | "status">,
  { signed = true }: ExplainContext = {},
): VerdictKind {
  const success = outcome === "success";
  if (isForgery(fault)) {
    if (success) return signed ? "accepted_forgery" : "delivered";
    return status !== undefined && REJECTING.has(status) ? "refused_forgery" : "failed";
  }
  if (fault !== undefined && CUTS.has(fault)) return success ? "accepted_fragment" : "injected";
  if (success) return "delivered";
  if (fault !== undefined && (WITHOUT_RECEIVER.test(fault) || (fault === "oversize" && status === 413)))
    return "injected";
  return hasStatusClass({ status }, 2) ? "delivered" : "failed";
}
