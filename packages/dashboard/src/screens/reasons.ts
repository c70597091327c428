import type { DeliveryPage } from "../shapes/types.ts";

/** The deliveries of a destination that one filter finds, and why they failed. */
export interface Reason {
  readonly destination: string;
  /** Each answer that the filter finds. */
  readonly words: string;
  readonly filter: Readonly<Record<string, string>>;
  readonly number: number;
}

/**
 * Why deliveries failed, the most frequent reason first. A filter knows the status or the outcome of an attempt, not the code of
 * an error: what one filter finds is one reason, so that resending it resends what is shown, and no more.
 */
export function reasonsOf({ deliveries }: Pick<DeliveryPage, "deliveries">): readonly Reason[] {
  const reasons = new Map<string, Reason>();
  for (const { destination, last } of deliveries) {
    if (!last) continue;
    const { answer, outcome, status } = last;
    const filter: Reason["filter"] = status === undefined ? { outcome } : { status: String(status) };
    const key = `${destination} ${status ?? outcome}`;
    const { number, words } = reasons.get(key) ?? { number: 0, words: answer };
    const others = words.includes(answer) ? "" : `, ${answer}`;
    reasons.set(key, { destination, words: words + others, filter, number: number + 1 });
  }
  return [...reasons.values()].toSorted((a, b) => b.number - a.number);
}
