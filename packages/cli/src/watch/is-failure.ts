import { verdictOf, type ExplainContext, type VerdictKind } from "@countersign/sender/explain";
import type { LiveEvent } from "@countersign/server";

const FAILURES: ReadonlySet<VerdictKind> = new Set(["failed", "accepted_forgery", "accepted_fragment"]);

/** Whether an event is about something that went wrong: it has a line with `--only failed`. */
export function isFailure(event: LiveEvent, context: ExplainContext): boolean {
  switch (event.event) {
    case "attempt":
      return FAILURES.has(verdictOf(event.attempt, context).kind);
    case "failed":
    case "expired":
    case "rejected":
    case "store_error":
    case "reset":
    case "failing":
      return true;
    case "store":
      // A store that is up has a reason where something is to be done all the same: no process delivers.
      return event.state !== "up" || event.reason !== undefined;
    default:
      return false;
  }
}
