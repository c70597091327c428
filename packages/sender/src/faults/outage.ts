import { outcomeOfStatus } from "../transport/classify.ts";
import type { AttemptResult } from "../transport/transport.ts";
import type { Fault } from "./fault.ts";

/** The faults that simulate an unreachable endpoint: nothing is sent to it. */
export type Outage = "timeout" | "refused" | `status:${number}`;

export function isOutage(fault: Fault): fault is Outage {
  return fault === "timeout" || fault === "refused" || fault.startsWith("status:");
}

/**
 * The result of an attempt during an outage, as if the endpoint had been called. No time passes, so that a test of four hours
 * of timeouts is short; the time that a timeout takes is in its result.
 */
export function resultOfOutage(outage: Outage, timeoutMs: number): AttemptResult {
  const responseBody = new Uint8Array();
  if (outage === "timeout") {
    const message = `no response within ${timeoutMs} ms (fault: timeout; nothing was sent)`;
    return { outcome: "timeout", code: "ERR_TIMEOUT", message, durationMs: timeoutMs, responseBody };
  }
  if (outage === "refused") {
    const message = "the connection was refused (fault: refused; nothing was sent)";
    return { outcome: "network", code: "ECONNREFUSED", message, durationMs: 0, responseBody };
  }
  const status = Number(outage.slice("status:".length));
  const message = `answered ${status} (fault: ${outage}; nothing was sent)`;
  return { outcome: outcomeOfStatus(status), status, message, durationMs: 0, responseBody };
}
