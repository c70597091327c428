/**
 * How an attempt ended, and what happens next (spec 5.2, 7).
 *
 * | outcome | meaning | next |
 * |---|---|---|
 * | `success` | a 2xx status | delivered |
 * | `server_error` | 5xx, 408 or 429 | retry |
 * | `timeout` | no status line and headers in time | retry |
 * | `network` | connection refused or reset, name not found, an answer that is not HTTP | retry |
 * | `rejected` | any other status, redirects included; or an address that may not be called | endpoint done |
 * | `tls` | the certificate was not accepted; no request was sent | endpoint done |
 */
export type AttemptOutcome = "success" | "server_error" | "timeout" | "network" | "rejected" | "tls";

/** Every outcome of an attempt. */
export const ATTEMPT_OUTCOMES: readonly AttemptOutcome[] = [
  "success",
  "server_error",
  "timeout",
  "network",
  "rejected",
  "tls",
];

/** Outcomes with which an endpoint has rejected a message for good: it does not get it again (spec 7). */
export const REJECTIONS: ReadonlySet<AttemptOutcome> = new Set(["rejected", "tls"]);

/** One POST to one endpoint, as it is logged. */
export interface Attempt {
  /** Which round of its delivery it belongs to, from 1. */
  readonly round: number;
  /** URL of the endpoint. */
  readonly endpoint: string;
  /** When it started, in milliseconds since 1970 by the sender's clock. */
  readonly startedAt: number;
  /** Physical milliseconds to the response's headers, or to the failure, to a tenth. */
  readonly durationMs: number;
  /** How it ended. */
  readonly outcome: AttemptOutcome;
  /** The response's status, when there was a response. */
  readonly status?: number | undefined;
  /** A stable code when there was no response, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
  /** What happened, for a person to read. */
  readonly message?: string | undefined;
  /** The response's body as text, its first 16 KiB at most; empty when there was no response. */
  readonly response: string;
  /** Name of the fault that was injected into it (`@countersign/sender/faults`). */
  readonly fault?: string | undefined;
  /**
   * The headers as they were sent, without those that frame the body, 8 KiB of them at most. The signature is the one that was
   * sent: a forged one if a fault forged it. The values of the endpoint's own headers are `(hidden)`. Absent when no request
   * was sent, or an earlier version made the attempt.
   */
  readonly requestHeaders?: Readonly<Record<string, string>> | undefined;
  /**
   * The headers of the response by name in lower case, 8 KiB of them at most; several of one name are joined
   * by `, `. Credentials of the destination that an endpoint sends back are `(hidden)`, as in {@link
   * response}.
   */
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** The response's body was longer than 16 KiB: {@link response} has its beginning. */
  readonly cut?: true | undefined;
}

/** An attempt without the data that was sent and received. */
export type AttemptSummary = Omit<Attempt, "response" | "cut" | "requestHeaders" | "responseHeaders">;
