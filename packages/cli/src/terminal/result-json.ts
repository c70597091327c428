import { roundedMs } from "@countersign/protocol";
import type { AttemptResult } from "@countersign/sender";

/** How an exchange ended, as JSON lines have it. */
export function resultJson({
  outcome,
  status,
  code,
  durationMs,
}: Omit<AttemptResult, "responseBody">): Pick<AttemptResult, "outcome" | "status" | "code" | "durationMs"> {
  return { outcome, status, code, durationMs: roundedMs(durationMs) };
}
