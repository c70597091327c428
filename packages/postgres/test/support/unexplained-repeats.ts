import type { FleetNode, NodeMessage } from "./fleet.ts";
import type { Tally } from "./tally.ts";

/** While a process was being killed, in milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The messages that arrived again without a reason. A message arrives again if a process has told that its claim was lost, as when nothing
 * of it ran for a lease, or if a process that had sent it was killed before it was settled: never else.
 *
 * @param nodes All processes, which have ended.
 */
export function unexplainedRepeats(
  { arrivals }: Tally,
  nodes: readonly FleetNode[],
  killed: readonly Span[] = [],
): readonly string[] {
  const told = (kind: string): readonly NodeMessage[] => nodes.flatMap((node) => node.told(kind));
  const settledAt = new Map(told("delivered").map(({ messageId = "", at }) => [messageId, at]));
  const lost = new Set(told("lost").map(({ messageId }) => messageId));
  return [...arrivals].flatMap(([id, times]) => {
    const isExplained = times.every((again, index) => {
      const before = times[index - 1];
      if (before === undefined || lost.has(id)) return true;
      if (again > (settledAt.get(id) ?? again)) return false;
      return killed.some(({ from, to }) => before <= to && again >= from);
    });
    return isExplained ? [] : [id];
  });
}
