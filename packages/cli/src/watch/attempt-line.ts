import {
  adviceFor,
  type AdviceContext,
  answerText,
  durationText,
  ordinal,
  shortId,
  verdictOf,
  type ExplainContext,
} from "@countersign/sender/explain";
import type { AttemptEventJson, DeliveryJson } from "@countersign/server";
import { clockTime } from "../terminal/clock-time.ts";
import { saidOf } from "../terminal/said-of.ts";
import { tookOf } from "../terminal/took-of.ts";
import { printable } from "../terminal/terminal.ts";
import type { Part, Tone } from "../terminal/layout.ts";

/** The step after an attempt. */
export type Next =
  | { readonly kind: "again"; readonly delayMs: number; readonly until: Date }
  | { readonly kind: "failed" | "expired" | "delivered" };

/** What a line shows besides the attempt itself. */
export interface LineContext extends ExplainContext {
  /** Shows the endpoint: there are several. */
  readonly several: boolean;
  /** How long a receiver has to answer, in milliseconds. */
  readonly budgetMs: number;
}

/** Time, short id, and what the message is: the beginning of each line about a delivery. */
export function deliveryParts(at: string, { id, type, event, identity }: DeliveryJson): readonly Part[] {
  return [
    { text: clockTime(at), tone: "dim" },
    { text: shortId(id), tone: "dim" },
    { text: type },
    ...(event === undefined ? [] : [{ text: JSON.stringify(printable(event)), shrinks: true }]),
    { text: printable(identity), shrinks: true },
  ];
}

/**
 * One attempt: `17:24:06 a8f3 track "Boom" u-1004  500 in 4 ms  again in 9 s (3rd try, until 21:24)`.
 *
 * @param next What the delivery does next, where that is known and was caused by this attempt.
 */
export function attemptParts(
  at: string,
  delivery: DeliveryJson,
  attempt: AttemptEventJson,
  context: LineContext,
  next?: Next,
): readonly Part[] {
  const endpoint: readonly Part[] = context.several
    ? [{ text: printable(attempt.endpoint), tone: "dim", shrinks: true }]
    : [];
  return [
    ...deliveryParts(at, delivery),
    ...endpoint,
    { gap: 2, ...resultPart(attempt, context) },
    ...(next === undefined ? [] : nextParts(next, attempt.round)),
  ];
}

function resultPart(attempt: AttemptEventJson, context: LineContext): Part {
  const { durationMs, fault = "", status } = attempt;
  const { kind, text } = verdictOf(attempt, context);
  if (kind === "refused_forgery")
    return { text: `rejected  ${fault}: ${text}`, shortest: `rejected  ${fault}: ${status}`, tone: "good" };
  if (kind === "accepted_forgery") {
    const alarm = `${text}  ${fault}: ${answerText(attempt)}`;
    return { text: `${alarm} in ${durationText(durationMs)}`, short: alarm, tone: "alarm" };
  }
  const took = tookOf(attempt, context.budgetMs);
  const injected = fault === "" ? "" : ` (fault: ${fault})`;
  const tone: Tone = { delivered: "good", failed: "bad", accepted_fragment: "alarm", injected: "warn" }[
    kind
  ] as Tone;
  if (status === undefined)
    return { text: `${text}${took.text}${injected}`, short: `${text}${injected}`, tone, shrinks: true };
  return { text: `${text}${took.text}${injected}`, tone: took.isSlow && tone === "good" ? "warn" : tone };
}

/** The next step of a delivery, as the end of a line. */
export function nextParts(next: Next, round: number): readonly Part[] {
  switch (next.kind) {
    case "again": {
      const nth = ordinal(round + 1);
      const until = next.until.toTimeString().slice(0, 5);
      const details = {
        text: `(${nth} try, until ${until})`,
        short: `(${nth} try)`,
        optional: true,
        tone: "dim",
      } as const;
      return [{ gap: 2, text: `again in ${durationText(next.delayMs)}`, tone: "warn" }, details];
    }
    case "failed":
      return [{ gap: 2, text: "failed, not retried", short: "failed", tone: "bad" }];
    case "expired":
      return [{ gap: 2, text: "expired, no endpoint accepted it in time", short: "expired", tone: "bad" }];
    default:
      return [{ gap: 2, text: "delivered by another endpoint", short: "", tone: "dim" }];
  }
}

/** Below a failed attempt: what the receiver said, as text that is safe for a terminal. */
export function answerOf(attempt: AttemptEventJson, context: ExplainContext): string | undefined {
  return verdictOf(attempt, context).kind === "failed" ? saidOf(attempt) : undefined;
}

/**
 * What to do about an attempt, as text that is safe for a terminal.
 *
 * @param next What the delivery does next, where that is known.
 */
export function adviceOf(
  attempt: AttemptEventJson,
  context: AdviceContext,
  next?: Next,
): { readonly kind: string; readonly text: string } | undefined {
  const state = next?.kind === "again" ? "pending" : next?.kind;
  const advice = adviceFor(attempt, { ...context, state });
  return (
    advice && { kind: `${attempt.endpoint} ${advice.kind}`, text: printable(`${advice.text} ${advice.next}`) }
  );
}
