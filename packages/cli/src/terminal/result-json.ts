import type { AttemptResult } from "@countersign/sender";

/** How an exchange ended, as JSON lines have it: its time in milliseconds with one decimal, as in events and the API. */
export function resultJson({
  outcome,
  status,
  code,
  durationMs,
}: Omit<AttemptResult, "responseBody">): Pick<AttemptResult, "outcome" | "status" | "code" | "durationMs"> {
  return { outcome, status, code, durationMs: Math.round(durationMs * 10) / 10 };
}
