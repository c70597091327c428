import { answerText } from "./answer.ts";
import { hasStatusClass, type AttemptFacts, type ExplainContext } from "./attempt-facts.ts";

/**
 * What an attempt shows about its receiver.
 *
 * | kind | meaning |
 * |---|---|
 * | `delivered` | it took the message |
 * | `failed` | it did not take the message |
 * | `refused_forgery` | it refused a forged signature, as it should |
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

/** What an attempt shows about its receiver, and in which words. */
export interface Verdict {
  readonly kind: VerdictKind;
  /** Such as `401, as it should be`. */
  readonly text: string;
}

/** The loudest thing that the terminal and the page can show. */
export const ACCEPTED_FORGERY = "ACCEPTED A FORGERY";

const FORGERIES: ReadonlySet<string> = new Set(["bad_signature", "missing_signature", "stale_secret"]);
const CUTS: ReadonlySet<string> = new Set(["truncated", "reset"]);
/** Statuses that say that the signature was not accepted. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);
/** Statuses that refuse the message, too, and leave open why. */
const OTHER_REFUSALS: ReadonlySet<number> = new Set([400, 422]);
/** Faults in whose attempts the receiver has no say. */
const WITHOUT_RECEIVER = /^(?:timeout|refused|status:\d{3})$/;

/** Whether a fault forges the signature. */
export function isForgery(fault: string | undefined): boolean {
  return fault !== undefined && FORGERIES.has(fault);
}

/**
 * Judges an attempt: a receiver that refuses a forgery does what it should, and one that accepts a forgery does not.
 *
 * @param context `signed: false` where the destination has no secret: its receiver cannot tell a forgery.
 * @example
 * ```ts
 * const attempt = { endpoint, outcome: "rejected", status: 401, fault: "bad_signature", durationMs: 4 } as const;
 * verdictOf(attempt); // { kind: "refused_forgery", text: "401, as it should be" }
 * ```
 */
export function verdictOf(attempt: AttemptFacts, { signed = true }: ExplainContext = {}): Verdict {
  const { fault, outcome, status } = attempt;
  const text = answerText(attempt);
  if (isForgery(fault)) {
    if (outcome === "success")
      return signed
        ? { kind: "accepted_forgery", text: ACCEPTED_FORGERY }
        : { kind: "delivered", text: `${text}; without a secret there is nothing to verify` };
    if (status !== undefined && REFUSALS.has(status))
      return { kind: "refused_forgery", text: `${text}, as it should be` };
    if (status !== undefined && OTHER_REFUSALS.has(status))
      return { kind: "refused_forgery", text: `${text}, where 401 is usual` };
    return { kind: "failed", text };
  }
  if (fault !== undefined && CUTS.has(fault)) {
    if (outcome === "success") return { kind: "accepted_fragment", text: `${text}: ACCEPTED HALF A MESSAGE` };
    return {
      kind: "injected",
      text: fault === "reset" ? "connection reset on purpose" : "body cut on purpose",
    };
  }
  if (outcome === "success") return { kind: "delivered", text };
  if (fault === "oversize" && status === 413) return { kind: "injected", text: `${text}, as it should be` };
  if (fault !== undefined && WITHOUT_RECEIVER.test(fault)) return { kind: "injected", text };
  return { kind: hasStatusClass(attempt, 2) ? "delivered" : "failed", text };
}
