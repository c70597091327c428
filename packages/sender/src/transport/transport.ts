import type { Socket } from "node:net";
import type { AttemptOutcome } from "../delivery/attempt.ts";
import type { DeliveryInfo } from "../delivery/delivery.ts";

/** One POST to one endpoint, ready to send. */
export interface AttemptRequest {
  /** Full `http:` or `https:` URL of the endpoint. */
  readonly url: string;
  /** Every header except the framing ones (`Host`, `Content-Length`, `Connection`), which the transport writes. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes to send. */
  readonly body: Uint8Array;
  /** Certificate authorities trusted for this endpoint instead of the system's, in PEM. */
  readonly ca?: string | readonly string[] | undefined;
  /** The delivery that the attempt belongs to. A sender always gives it. */
  readonly delivery?: DeliveryInfo | undefined;
  /** Signs other bytes with the destination's secret, as hex. Absent when the destination has no secret. */
  readonly sign?: ((body: Uint8Array) => string) | undefined;
  /** Writes the body instead of sending {@link body} in one piece; for decorators that inject faults. */
  readonly writeBody?: BodyWriter | undefined;
  /** Names a change that a decorator made to the request, such as a fault. */
  readonly fault?: string | undefined;
}

/** Yields the bytes of a body as they are to be written, over a connection that no other attempt uses. */
export type BodyWriter = (body: Uint8Array, wire: Wire) => AsyncIterable<Uint8Array>;

/** The connection that a {@link BodyWriter} writes to. */
export interface Wire {
  /** The socket, once connected. */
  readonly socket: () => Socket | undefined;
  /** Aborted when the attempt has ended. */
  readonly over: AbortSignal;
  /** Milliseconds that the endpoint has to respond. */
  readonly timeoutMs: number;
}

/** The result of one attempt. */
export interface AttemptResult {
  /** How it ended: what the sender does next. */
  readonly outcome: AttemptOutcome;
  /** The response's status, if there was a response. */
  readonly status?: number | undefined;
  /** A stable code if there was no response: `ECONNREFUSED`, `CERT_HAS_EXPIRED`, `ERR_ADDRESS_BLOCKED`, ... */
  readonly code?: string | undefined;
  /** What happened, for a person to read. */
  readonly message?: string | undefined;
  /** The response's `Retry-After` header, unchanged. */
  readonly retryAfter?: string | undefined;
  /** The response's `Date` header: a date in `retryAfter` is measured against the endpoint's own clock. */
  readonly date?: string | undefined;
  /** The first bytes of the response's body, 16 KiB at most. */
  readonly responseBody: Uint8Array;
  /** Milliseconds from the start of the attempt to the response's headers, or to its failure. */
  readonly durationMs: number;
  /** The headers that were sent, without the framing ones, if a request was sent. */
  readonly requestHeaders?: Readonly<Record<string, string>> | undefined;
  /** The response's headers by name in lower case, if there was a response; several of one name are joined by `, `. */
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** The response's body was longer than {@link responseBody}. */
  readonly cut?: true | undefined;
  /** Names the fault that a decorator injected, for the log. */
  readonly fault?: string | undefined;
  /** Results of earlier POSTs that a decorator made for the same request. Each is logged as an attempt. */
  readonly earlier?: readonly AttemptResult[] | undefined;
}

/** Limits of one attempt. */
export interface SendOptions {
  /** Milliseconds for the endpoint to respond, counted from the start of the attempt, connect included. */
  readonly timeoutMs: number;
  /** Aborts the attempt; it then ends as `network` with code `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes attempts at endpoints. `createTransport()` creates the real one; tests and decorators provide their
 * own.
 */
export interface Transport {
  /** Makes one attempt. Always resolves to a result; a rejection counts as the outcome `network`. */
  send(request: AttemptRequest, options: SendOptions): Promise<AttemptResult>;
  /**
   * Holds a delivery back before its first attempt: returns for how many milliseconds of the sender's clock, 0 for
   * not at all. Called once for each delivery, with the URLs about to be called. A transport does not need it.
   */
  readonly holdBack?: ((delivery: DeliveryInfo, endpoints: readonly string[]) => number) | undefined;
  /** Drops every connection. Attempts in progress end as `network`. Idempotent. */
  close(): Promise<void>;
}
