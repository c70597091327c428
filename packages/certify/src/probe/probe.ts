import type { Agent } from "node:http";
import type { Language } from "./language.ts";
import type { Outcome } from "../wire/exchange.ts";

/** Which receiver to audit, and how to reach it. */
export interface ProbeOptions {
  /** The URL of the receiver: http or https. */
  readonly url: string | URL;
  /** The shared secret, as the receiver has it. */
  readonly secret: string;
  /** Static headers for every request, as a destination's settings have them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** PEM certificates of a private authority, trusted in addition to the public ones. TLS is always verified. */
  readonly ca?: string | undefined;
  /** Ends the audit early. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long an audit waits for one answer, in ms. Longer than the 5 s a sender waits, so that a slow receiver fails
   * only the audit of its slowness. Default: 10,000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the receiver's host and each IP address that it resolves to, before a connection is made; throws for one that may
   * not be called, as `assertCallable` of `@countersign/sender` does. For audits of URLs that others enter. Default: every address
   * may be called.
   */
  readonly checkAddress?: ((host: string, address: string) => void) | undefined;
  /** The language of the receiver: fixes then name the functions of that language. Default: none, and fixes are neutral. */
  readonly language?: Language | undefined;
}

/** One request to the receiver. What is not given is as the sender would send it. */
export interface Delivery {
  /** What this request is, for the report: "a track message with an emoji in the name of its event". */
  readonly what: string;
  readonly body: string | Uint8Array;
  /** The value or values of `X-Signature`; null for none. Default: the right one for the body. */
  readonly signature?: string | readonly string[] | null;
  /** Default: `POST`. */
  readonly method?: string;
  /** More headers, or other values of the default ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How the body is put on the wire. Default: all at once, under its `Content-Length`. */
  readonly transfer?: Transfer;
}

/** How a body is put on the wire. */
export interface Transfer {
  /** The pieces to write in place of the body, each when the one before has left. */
  readonly pieces?: AsyncIterable<Uint8Array>;
  /** The length to declare, in bytes; null for a chunked body. Default: that of the body. */
  readonly declaredLength?: number | null;
  /** What comes after the body: the end, or a connection broken off in order or with a reset. Default: `end`. */
  readonly ending?: "end" | "close" | "reset";
  /** Whether to send `Expect: 100-continue`, and the body only after the answer to that or a second. */
  readonly awaitContinue?: boolean;
  /** How long to wait for the answer, in ms. Default: as long as the probe does. */
  readonly timeoutMs?: number;
  /** Connections to reuse, from {@link Probe.withConnection}. Default: a new connection. */
  readonly agent?: Agent;
}

/** A request and what came of it. */
export interface Exchange extends Outcome {
  /** A description of the request. */
  readonly sent: string;
  /** A description of the response, or a note that none came. Secret and digests are masked. */
  readonly received: string;
}

/** Sends requests to one receiver, and remembers what two audits need to know about all responses. */
export interface Probe {
  readonly url: URL;
  readonly secret: string;
  /** How long one answer is waited for, in ms. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** The right signature of a body. */
  readonly sign: (body: string | Uint8Array) => string;
  /** Sends one request. Resolves whatever the receiver does; rejects only when the signal aborts. */
  readonly send: (delivery: Delivery) => Promise<Exchange>;
  /** Sends bytes that need not be HTTP, and waits until the receiver closes or a second is over. */
  readonly sendBytes: (bytes: Uint8Array) => Promise<void>;
  /** Gives connections that are kept open between requests to `use`, and closes them after it. */
  readonly withConnection: <T>(use: (agent: Agent) => Promise<T>) => Promise<T>;
  /** How many requests the receiver did not answer, also behind a proxy, apart from those that were broken off on purpose. */
  readonly unanswered: number;
  /** How many requests were answered 429: there were too many in a time. */
  readonly limited: number;
  /** Whether an answer shows that the receiver runs: one that no proxy gives in its place, as it does with 502, 503 or 504. */
  readonly isRunning: boolean;
  /** Whether an answer shows that the receiver is one of `@countersign/core`: a problem document with one of its codes. */
  readonly isCountersign: boolean;
  /** The first exchange whose answer told the digest of what was sent, or the secret. */
  readonly leak: Exchange | undefined;
  /** The exchanges of ordinary requests that took longer than the sender waits; the first ten are kept. */
  readonly late: readonly Exchange[];
  /** What the receiver is written in, if that is known. */
  readonly language: Language | undefined;
}
