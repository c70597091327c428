import type { Fault } from "../faults/fault.ts";

/** One POST to one endpoint, ready for the wire. */
export interface AttemptRequest {
  /** Full `http:` or `https:` URL of the endpoint. */
  readonly url: string;
  /** Every header but the framing ones (`Host`, `Content-Length`, `Connection`), which the transport writes. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes to send. */
  readonly body: Uint8Array;
  /** Certificate authorities trusted for this endpoint instead of the system's, in PEM. */
  readonly ca?: string | readonly string[] | undefined;
  /** Something to do wrong on purpose. */
  readonly fault?: Fault | undefined;
}

/**
 * How an attempt ended, and with it what happens next (spec sections 5.2 and 7).
 *
 * | outcome | meaning | next |
 * |---|---|---|
 * | `success` | a 2xx status | delivered |
 * | `server_error` | 5xx, 408 or 429 | retry |
 * | `timeout` | no status line and headers in time | retry |
 * | `network` | refused, reset, name not found, an answer that is not HTTP | retry |
 * | `rejected` | any other status, redirects included; or an address that may not be called | endpoint done |
 * | `tls` | the certificate was not accepted; no request was sent | endpoint done |
 */
export type AttemptOutcome = "success" | "server_error" | "timeout" | "network" | "rejected" | "tls";

/** What one attempt came to. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  /** The response's status, when there was a response. */
  readonly status?: number | undefined;
  /** A stable code when there was none: `ECONNREFUSED`, `CERT_HAS_EXPIRED`, `ERR_ADDRESS_BLOCKED`, ... */
  readonly code?: string | undefined;
  /** What happened, for a person to read. */
  readonly message?: string | undefined;
  /** The `Retry-After` header as it came. */
  readonly retryAfter?: string | undefined;
  /** The first bytes of the response's body, 16 KiB at most. */
  readonly responseBody: Uint8Array;
  /** Milliseconds from the start of the attempt to the response's headers, or to its failure. */
  readonly durationMs: number;
}

/** Limits of one attempt. */
export interface SendOptions {
  /** Milliseconds for the endpoint to respond, counted from the start of the attempt, connect included. */
  readonly timeoutMs: number;
  /** Gives the attempt up; it then ends as `network` with code `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What carries attempts to endpoints. `createTransport()` makes the real one; tests may bring their own.
 */
export interface Transport {
  /** Makes one attempt. Never rejects: whatever happens is a result. */
  send(request: AttemptRequest, options: SendOptions): Promise<AttemptResult>;
  /** Drops every connection. Attempts under way end as `network`. Idempotent. */
  close(): Promise<void>;
}
