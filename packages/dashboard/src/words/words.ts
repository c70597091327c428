import { verdictKindOf, type VerdictKind } from "@countersign/sender/explain";
import type { AttemptSummary, State } from "../shapes/types.ts";

/** What a verdict stands on. */
export interface Facts extends Pick<AttemptSummary, "endpoint" | "outcome" | "answer"> {
  readonly status?: number | undefined;
  readonly fault?: string | undefined;
}

/** How good or bad something is: the colour and the sign that it is shown with, beside the word. */
export type Tone = "good" | "bad" | "warn" | "wait" | "loud" | "plain";

/** What stands beside a word: the sign of its tone, or one of its own where another word has the same tone. */
export type Sign = Tone | "retry" | "late";

/** A word for something, and how it is shown. */
export interface Verdict {
  readonly tone: Tone;
  readonly word: string;
  /** Unless it is that of the tone. */
  readonly sign?: Sign | undefined;
}

const STATES: Readonly<Record<State, Verdict>> = {
  pending: { tone: "wait", word: "waiting" },
  delivered: { tone: "good", word: "delivered" },
  failed: { tone: "bad", word: "failed" },
  expired: { tone: "bad", word: "expired", sign: "late" },
};

const RETRIED = { tone: "warn", sign: "retry" } as const;

const TONES: Readonly<Record<VerdictKind, Tone>> = {
  delivered: "good",
  failed: "bad",
  refused_forgery: "good",
  accepted_forgery: "loud",
  accepted_fragment: "loud",
  injected: "warn",
};

/**
 * The word for where a delivery stands.
 *
 * @param isTried Whether it is tried again when its time comes. What waits is, unless its destination keeps it back.
 */
export function stateVerdict(
  state: State,
  last: Facts | undefined,
  signed: boolean,
  isTried = state === "pending",
): Verdict {
  if (last === undefined) return STATES[state];
  const kind = verdictKindOf(last, { signed });
  if (kind === "accepted_forgery") return { tone: "loud", word: "forgery accepted" };
  if (kind === "accepted_fragment") return { tone: "loud", word: "accepted half" };
  if (kind === "refused_forgery" && state === "failed") return { tone: "good", word: "forgery rejected" };
  return isTried ? { ...RETRIED, word: "retrying" } : STATES[state];
}

/** How an attempt ended, and how that is shown. */
export function attemptVerdict(attempt: Facts, signed: boolean): Verdict {
  const kind = verdictKindOf(attempt, { signed });
  const { outcome, answer } = attempt;
  const isRetried = kind === "failed" && outcome !== "rejected" && outcome !== "tls";
  return { ...(isRetried ? RETRIED : { tone: TONES[kind] }), word: wordOf(kind, answer) };
}

function wordOf(kind: VerdictKind, answer: string): string {
  if (kind === "accepted_forgery") return `${answer}: ACCEPTED A FORGERY`;
  if (kind === "accepted_fragment") return `${answer}: ACCEPTED HALF A MESSAGE`;
  return kind === "refused_forgery" ? `rejected: ${answer}, as it should be` : answer;
}

/** What a resend has shown, compared with the delivery that it repeats. */
export function resendVerdict(before: State, after: State): Verdict | undefined {
  if (after === "pending" || before === "pending") return undefined;
  const was = before === "delivered";
  if (after === "delivered") return { tone: "good", word: was ? "still delivered" : "fixed" };
  return { tone: "bad", word: was ? "broken now" : "still failing" };
}
