import { type Acceptance, type AcceptancePart, splitAcceptance } from "@countersign/sender/store";

/** The most calls and deliveries that one command stores: a larger one may never get its answer in time. */
const MOST_AT_ONCE = 10_000;

/** Splits an acceptance into parts of one command each. The caller stores all parts in one transaction. */
export function splitBySize(acceptance: Acceptance): readonly AcceptancePart<number>[] {
  const { calls, messages, deliveries } = acceptance;
  const sizes = calls.map(() => 1);
  for (const { message } of deliveries) {
    const call = messages[message]?.call ?? -1;
    if (sizes[call] !== undefined) sizes[call] += 1;
  }
  let [part, size] = [0, 0];
  const partOfCall = sizes.map((more) => {
    if (size > 0 && size + more > MOST_AT_ONCE) [part, size] = [part + 1, 0];
    size += more;
    return part;
  });
  // Nearly every acceptance fits into one command, and need not be copied.
  if (part === 0) return [{ key: 0, acceptance, positions: [...calls.keys()] }];
  return splitAcceptance(acceptance, (_, position = 0) => partOfCall[position] ?? 0);
}
