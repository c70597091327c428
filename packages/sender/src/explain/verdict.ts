import { answerText } from "./answer.ts";
import type { AttemptFacts, ExplainContext } from "./attempt-facts.ts";
import { isForgery, verdictKindOf, type VerdictKind } from "./verdict-kind.ts";

/** What an attempt shows about its receiver, and in which words. */
export interface Verdict {
  readonly kind: VerdictKind;
  /** Such as `401, as it should be`. */
  readonly text: string;
}

/** The loudest thing that the terminal and the page can show. */
export const ACCEPTED_FORGERY = "ACCEPTED A FORGERY";

/**
 * Judges an attempt: a receiver that rejects a forgery is right, and one that accepts it is wrong.
 *
 * @param context `signed: false` if the destination has no secret: its receiver cannot recognise a forgery.
 * @example
 * ```ts
 * const attempt = { endpoint, outcome: "rejected", status: 401, fault: "bad_signature", durationMs: 4 } as const;
 * verdictOf(attempt); // { kind: "refused_forgery", text: "401, as it should be" }
 * ```
 */
export function verdictOf(attempt: AttemptFacts, context: ExplainContext = {}): Verdict {
  const kind = verdictKindOf(attempt, context);
  return { kind, text: textOf(kind, attempt) };
}

function textOf(kind: VerdictKind, attempt: AttemptFacts): string {
  const { fault, status } = attempt;
  const text = answerText(attempt);
  switch (kind) {
    case "accepted_forgery":
      return ACCEPTED_FORGERY;
    case "refused_forgery":
      return `${text}, ${status === 401 || status === 403 ? "as it should be" : "but 401 is usual"}`;
    case "accepted_fragment":
      return `${text}: ACCEPTED HALF A MESSAGE`;
    case "injected":
      return injectedText(fault, text);
    case "delivered":
      return isForgery(fault) ? `${text}; without a secret there is nothing to verify` : text;
    case "failed":
      break;
  }
  return text;
}

function injectedText(fault: string | undefined, text: string): string {
  if (fault === "reset") return "connection reset on purpose";
  if (fault === "truncated") return "body cut on purpose";
  return fault === "oversize" ? `${text}, as it should be` : text;
}
