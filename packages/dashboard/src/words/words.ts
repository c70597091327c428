import type { AttemptSummary, DeliverySummary, Outcome, State } from "../data/types.ts";
import { clockTime, duration, plural, shortUrl } from "./format.ts";

/** How good or bad something is: the colour and the sign that it is shown with, beside the word. */
export type Tone = "good" | "bad" | "warn" | "wait" | "loud" | "plain";

/** A word for something, and how it is shown. */
export interface Verdict {
  readonly tone: Tone;
  readonly word: string;
}

/** What words are about: an attempt, or the last one of a row. */
export interface Tried {
  readonly outcome: Outcome | "";
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly fault?: string | undefined;
}

/** Faults that make a message that a receiver must refuse. */
const FORGERIES: ReadonlySet<string> = new Set(["bad_signature", "missing_signature", "stale_secret"]);

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  UND_ERR_SOCKET: "closed the connection before answering",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "name server does not answer",
  ETIMEDOUT: "no connection in time",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  EPIPE: "connection closed while sending",
  HPE_INVALID_CONSTANT: "answer is not HTTP",
};

const STATES: Readonly<Record<State, Verdict>> = {
  pending: { tone: "wait", word: "waiting" },
  delivered: { tone: "good", word: "delivered" },
  failed: { tone: "bad", word: "failed" },
  expired: { tone: "bad", word: "expired" },
};

/** Whether an attempt carried a forged message. */
export function isForgery(fault: string | undefined): boolean {
  return fault !== undefined && FORGERIES.has(fault);
}

/** Whether a receiver took a forged message for a real one. */
export function acceptedForgery({ fault, outcome }: Tried): boolean {
  return isForgery(fault) && outcome === "success";
}

/** Whether a receiver rejected a forged message. */
export function refusedForgery({ fault, outcome }: Tried): boolean {
  return isForgery(fault) && outcome === "rejected";
}

/** The word for where a delivery stands. */
export function stateVerdict(state: State, last?: Tried): Verdict {
  if (last && acceptedForgery(last)) return { tone: "loud", word: "forgery accepted" };
  if (state === "failed" && last && refusedForgery(last)) return { tone: "good", word: "forgery refused" };
  if (state === "pending" && last && last.outcome !== "") return { tone: "warn", word: "retrying" };
  return STATES[state];
}

/** What came back, in a word or two: `204`, `503`, `connection refused`, `no answer`. */
export function answerWord({ outcome, status, code }: Tried): string {
  if (status) return String(status);
  if (outcome === "timeout") return "no answer";
  if (outcome === "tls") return "certificate";
  return CODES[code ?? ""] ?? code ?? "";
}

/** How an attempt ended, and how that is shown. */
export function attemptVerdict(attempt: Tried): Verdict {
  if (acceptedForgery(attempt)) return { tone: "loud", word: `${answerWord(attempt)}: accepted a forgery` };
  if (refusedForgery(attempt)) return { tone: "good", word: `${answerWord(attempt)}: refused, as it should be` };
  if (attempt.outcome === "success") return { tone: "good", word: answerWord(attempt) };
  const final = attempt.outcome === "rejected" || attempt.outcome === "tls";
  return { tone: final ? "bad" : "warn", word: answerWord(attempt) };
}

/** Why a delivery is where it is, in one sentence. */
export function whyOf(delivery: DeliverySummary, now: number): string {
  const { state, last, attempts, dueAt } = delivery;
  if (!last) return "Accepted. The first attempt has not ended yet.";
  const where = shortUrl(last.endpoint);
  if (acceptedForgery(last))
    return `${where} accepted a forged message (${last.fault}) with ${last.status}: it does not check the signature, so anyone can send it messages.`;
  if (refusedForgery(last))
    return `${where} refused the forged message (${last.fault}) with ${last.status}, as it should.`;
  const ended = sentenceOf(last);
  if (state === "delivered") {
    const tries = attempts > 1 ? `On attempt ${attempts}, ` : "";
    return `${tries}${where} answered ${last.status} in ${duration(last.durationMs)}.`;
  }
  if (state === "failed") return `${ended} ${finality(last)}`;
  if (state === "expired")
    return `No endpoint took it in the time for retries: ${plural(attempts, "attempt")}. The last time, ${lower(ended)}`;
  const next = dueAt === undefined ? "" : ` The next attempt is at ${clockTime(Date.parse(dueAt), now)}.`;
  return `${ended}${next}`;
}

function sentenceOf(last: AttemptSummary): string {
  const where = shortUrl(last.endpoint);
  if (last.status !== undefined) return `${where} answered ${last.status}.`;
  if (last.outcome === "timeout") return `${where} did not answer within ${duration(last.durationMs)}.`;
  if (last.outcome === "tls") return `The certificate of ${where} was not accepted.`;
  return `${where} could not be reached: ${answerWord(last)}.`;
}

function finality({ outcome, status }: AttemptSummary): string {
  if (outcome === "tls") return "That is final: install a certificate that clients accept, then resend.";
  if (status !== undefined && status >= 300 && status < 400)
    return "Redirects are not followed: enter the final URL in the settings, then resend.";
  return "That is final: fix the receiver, then resend.";
}

function lower(sentence: string): string {
  return sentence.startsWith("The") ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence;
}

/** What to do about a failed attempt; undefined where there is nothing to say. */
export function adviceOf(attempt: AttemptSummary): string | undefined {
  const { outcome, status, code, fault } = attempt;
  if (acceptedForgery(attempt))
    return "Verify the signature before anything else, for example with verifyWebhook(), and answer 401 if it is wrong.";
  if (fault !== undefined || outcome === "success") return undefined;
  if (status === 401 || status === 403)
    return "If the receiver verifies signatures, compare its shared secret with that of the destination, and see “From the bytes to the digest” below.";
  if (status === 404 || status === 405) return "Check the path of the URL: the receiver answers, but has no such route.";
  if (status === 413) return "Raise the body limit of the receiver to 1 MiB.";
  if (status !== undefined && status >= 500) return "The receiver failed. Its log says why; the delivery is tried again.";
  if (outcome === "timeout") return "Answer first, and do slow work afterwards: an endpoint has 5 seconds.";
  if (code === "ECONNREFUSED") return "Nothing listens there. Is the receiver running, on this port?";
  if (code === "ENOTFOUND") return "Check the host name for a typing mistake.";
  return undefined;
}

/** What a resend has shown, compared with the delivery that it repeats. */
export function resendVerdict(before: State, after: State): Verdict | undefined {
  if (after === "pending" || before === "pending") return undefined;
  const [was, is] = [before === "delivered", after === "delivered"];
  if (is) return was ? { tone: "good", word: "still delivered" } : { tone: "good", word: "fixed" };
  return was ? { tone: "bad", word: "broken now" } : { tone: "bad", word: "still failing" };
}
