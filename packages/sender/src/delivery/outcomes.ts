import type { AttemptOutcome } from "../transport/transport.ts";

/** What follows from each outcome for its endpoint (spec 7). */
const finality: Readonly<Record<AttemptOutcome, "delivered" | "retry" | "refused">> = {
  success: "delivered",
  server_error: "retry",
  timeout: "retry",
  network: "retry",
  rejected: "refused",
  tls: "refused",
};

/** Whether an endpoint is done with a message for good. */
export function isFinal(outcome: AttemptOutcome): boolean {
  return finality[outcome] === "refused";
}
