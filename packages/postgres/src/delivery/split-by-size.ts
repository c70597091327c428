import { type Acceptance, type AcceptancePart, splitAcceptance } from "@countersign/sender/store";

/** Calls and deliveries that one command stores: a command that takes longer than the time for an answer never gets one. */
const MOST_AT_ONCE = 10_000;

/** An acceptance in parts that are small enough for one command each: to be stored in one transaction. */
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
  // Next to all are stored with one command, and need not be copied.
  if (part === 0) return [{ key: 0, acceptance, positions: [...calls.keys()] }];
  return splitAcceptance(acceptance, (_, position = 0) => partOfCall[position] ?? 0);
}
