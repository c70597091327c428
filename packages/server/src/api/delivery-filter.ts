import { messageOf, parseTimestamp } from "@countersign/protocol";
import type { DeliveryFilter, SkippedFilter } from "@countersign/sender";
import { parseCursor } from "@countersign/sender/store";
import { problemAt } from "./problem.ts";

type Given = Readonly<Record<string, unknown>>;

/**
 * The sender's filter for checked parameters: times are milliseconds there.
 *
 * @throws Problem when `after` is no cursor.
 */
export function filterOf({ since, until, ...others }: Given): DeliveryFilter & SkippedFilter {
  if (typeof others["after"] === "string") checkCursor(others["after"]);
  return {
    ...others,
    ...(typeof since === "string" && { since: parseTimestamp(since) }),
    ...(typeof until === "string" && { until: parseTimestamp(until) }),
  };
}

function checkCursor(after: string): void {
  try {
    parseCursor(after);
  } catch (error) {
    throw problemAt({ parameter: "after" }, messageOf(error), 400);
  }
}
