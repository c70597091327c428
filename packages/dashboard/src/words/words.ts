import {
  ACCEPTED_FORGERY,
  adviceFor,
  answerText,
  verdictOf,
  whyOf as sentenceOf,
  type AttemptFacts,
  type VerdictKind,
} from "@countersign/sender/explain";
import type { Row } from "../shapes/row.ts";
import type { DeliverySummary, State } from "../shapes/types.ts";

/** How good or bad something is: the colour and the sign that it is shown with, beside the word. */
export type Tone = "good" | "bad" | "warn" | "wait" | "loud" | "plain";

/** A word for something, and how it is shown. */
export interface Verdict {
  readonly tone: Tone;
  readonly word: string;
}

const STATES: Readonly<Record<State, Verdict>> = {
  pending: { tone: "wait", word: "waiting" },
  delivered: { tone: "good", word: "delivered" },
  failed: { tone: "bad", word: "failed" },
  expired: { tone: "bad", word: "expired" },
};

const TONES: Readonly<Record<Exclude<VerdictKind, "failed">, Tone>> = {
  delivered: "good",
  refused_forgery: "good",
  accepted_forgery: "loud",
  accepted_fragment: "loud",
  injected: "warn",
};

/** The last attempt of a row, as the explanations want it. */
export function factsOf({ endpoint, outcome, ms, status, code, fault }: Row): AttemptFacts | undefined {
  if (outcome === "") return undefined;
  return {
    endpoint,
    outcome,
    durationMs: ms,
    ...(status !== 0 && { status }),
    ...(code !== "" && { code }),
    ...(fault !== "" && { fault }),
  };
}

/** The word for where a delivery stands. */
export function stateVerdict(state: State, last: AttemptFacts | undefined, signed: boolean): Verdict {
  if (last === undefined) return STATES[state];
  const { kind } = verdictOf(last, { signed });
  if (kind === "accepted_forgery") return { tone: "loud", word: "forgery accepted" };
  if (kind === "accepted_fragment") return { tone: "loud", word: "accepted half" };
  if (kind === "refused_forgery" && state === "failed") return { tone: "good", word: "forgery refused" };
  return state === "pending" ? { tone: "warn", word: "retrying" } : STATES[state];
}

/** How an attempt ended, and how that is shown. */
export function attemptVerdict(attempt: AttemptFacts, signed: boolean): Verdict {
  const { kind, text } = verdictOf(attempt, { signed });
  const { outcome } = attempt;
  if (kind === "failed")
    return { tone: outcome === "rejected" || outcome === "tls" ? "bad" : "warn", word: text };
  if (kind === "accepted_forgery")
    return { tone: "loud", word: `${answerText(attempt)}: ${ACCEPTED_FORGERY}` };
  if (kind === "refused_forgery") return { tone: "good", word: `refused: ${text}` };
  return { tone: TONES[kind], word: text };
}

/** Why a delivery is where it is, in one sentence. */
export function whyOf({ state, attempts, last }: DeliverySummary, signed: boolean, budgetMs: number): string {
  return sentenceOf({ state, attempts, last }, { signed, budgetMs });
}

/** What to do about an attempt; undefined where there is nothing to do. */
export function adviceOf(attempt: AttemptFacts, signed: boolean): string | undefined {
  const advice = adviceFor(attempt, { signed });
  return advice && [advice.text, advice.next].filter(Boolean).join(" ");
}

/** What a resend has shown, compared with the delivery that it repeats. */
export function resendVerdict(before: State, after: State): Verdict | undefined {
  if (after === "pending" || before === "pending") return undefined;
  const was = before === "delivered";
  if (after === "delivered") return { tone: "good", word: was ? "still delivered" : "fixed" };
  return { tone: "bad", word: was ? "broken now" : "still failing" };
}
