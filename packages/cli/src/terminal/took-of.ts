import { type AttemptFacts, budgetText, durationText, isSlow } from "@countersign/sender/explain";

/**
 * How long an attempt took, to follow what came of it: ` in 4 ms`, `, after 5 s` without an answer. A slow answer was nearly too late:
 * ` in 4.2 s of 5`.
 *
 * @param budgetMs How long a receiver has to answer, in milliseconds.
 */
export function tookOf(
  { status, durationMs }: Pick<AttemptFacts, "status" | "durationMs">,
  budgetMs: number,
): { readonly text: string; readonly isSlow: boolean } {
  if (status === undefined) return { text: `, after ${durationText(durationMs)}`, isSlow: false };
  if (!isSlow(durationMs, budgetMs)) return { text: ` in ${durationText(durationMs)}`, isSlow: false };
  return { text: ` in ${budgetText(durationMs, budgetMs)}`, isSlow: true };
}
