import { answerText } from "./answer.ts";
import { hasStatusClass, type AttemptFacts, type ExplainContext } from "./attempt-facts.ts";
import { ATTEMPT_TIMEOUT_MS } from "./attempt-timeout.ts";
import { budgetText, isSlow, ordinal } from "./texts.ts";
import { verdictOf } from "./verdict.ts";

/** The facts of a delivery that the sentence needs. A summary of the sender or of the control API has it. */
export interface DeliveryFacts {
  readonly state: "pending" | "delivered" | "failed" | "expired";
  /** How many attempts there were. */
  readonly attempts: number;
  /** The last attempt. */
  readonly last?: (AttemptFacts & { readonly round?: number | undefined }) | undefined;
}

/** Facts for {@link whyOf} besides the delivery. */
export interface WhyContext extends ExplainContext {
  /** How long a receiver has to answer, in milliseconds. Default: 5,000. */
  readonly budgetMs?: number | undefined;
}

/**
 * Why a delivery has its state, in one sentence without times of day.
 *
 * @example
 * ```ts
 * whyOf({ state: "pending", attempts: 2, last }); // Waits for its 3rd try: the receiver answered 500.
 * ```
 */
export function whyOf({ state, attempts, last }: DeliveryFacts, context: WhyContext = {}): string {
  if (last === undefined) {
    if (state === "pending") return "Waits for its first try.";
    return state === "expired" ? "Was not attempted within its retry window." : "Ended without an attempt.";
  }
  const { kind } = verdictOf(last, context);
  if (kind === "accepted_forgery")
    return `ACCEPTED A FORGERY: the receiver answered ${last.status} to ${last.fault}.`;
  if (kind === "accepted_fragment")
    return `The receiver answered ${last.status} to half of a message (${last.fault}).`;
  if (kind === "refused_forgery")
    return `The receiver rejected the forgery (${last.fault}) with ${last.status}.`;
  const round = last.round ?? attempts;
  if (state === "delivered" && last.outcome === "success")
    return deliveredSentence(last, round, context.budgetMs ?? ATTEMPT_TIMEOUT_MS);
  const what = `the receiver ${hasStatus(last) ? `answered ${last.status}` : answerText(last)}`;
  if (state === "delivered") return `One endpoint accepted it; at another ${what}${injected(last)}.`;
  if (state === "pending") return `Waits for its ${ordinal(round + 1)} try: ${what}${injected(last)}.`;
  if (state === "expired")
    return `No endpoint accepted it in time; at the last try ${what}${injected(last)}.`;
  return `Failed, without a retry: ${what}${injected(last)}${finality(last)}.`;
}

function deliveredSentence(last: AttemptFacts, round: number, budgetMs: number): string {
  const slow = isSlow(last.durationMs, budgetMs) ? `, after ${budgetText(last.durationMs, budgetMs)}` : "";
  const tries = round > 1 ? ` at the ${ordinal(round)} try` : "";
  return `The receiver answered ${last.status ?? "2xx"}${tries}${slow}.`;
}

function hasStatus({ status }: AttemptFacts): boolean {
  return status !== undefined;
}

function injected({ fault }: AttemptFacts): string {
  return fault === undefined ? "" : ` (fault: ${fault})`;
}

/** Why there is no retry, where the answer itself does not say it. */
function finality(last: AttemptFacts): string {
  if (last.outcome === "tls") return ", so no message was sent";
  return hasStatusClass(last, 3) ? ", and redirects are not followed" : "";
}
