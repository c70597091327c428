import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { sign } from "@countersign/core";
import { checkOptions } from "./check-options.ts";
import { exchange, sendBytes, type OutgoingRequest, type Outcome } from "./client.ts";
import { describeDelivery, describeOutcome } from "./describe-exchange.ts";
import { tells, telltalesOf } from "./telltales.ts";

/** How long the sender waits for an answer (spec 4.1), in ms. */
const ANSWER_BUDGET_MS = 5_000;

const DEFAULT_TIMEOUT_MS = 2 * ANSWER_BUDGET_MS;

/** Which receiver to audit, and how to reach it. */
export interface ProbeOptions {
  /** Where the receiver takes its webhooks: http or https. */
  readonly url: string | URL;
  /** The shared secret that the receiver has too. */
  readonly secret: string;
  /** Static headers for every request, as a destination's settings have them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** PEM certificates of a private authority, trusted beside the public ones. TLS is always verified. */
  readonly ca?: string | undefined;
  /** Ends the audit early. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long an audit waits for one answer, in ms. Longer than the 5 s a sender waits, so that a slow receiver fails
   * the audit of its slowness and no other. Default: 10,000.
   */
  readonly timeoutMs?: number | undefined;
}

/** One request to the receiver. What is not given is as the sender would have it. */
export interface Delivery {
  /** What this request is, for the report: "a track message whose event name holds an emoji". */
  readonly what: string;
  readonly body: string | Uint8Array;
  /** The value or values of `X-Signature`; null for none. Default: the right one for the body. */
  readonly signature?: string | readonly string[] | null;
  /** Default: `POST`. */
  readonly method?: string;
  /** Further headers, or others than the default ones. */
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
  /** Connections to reuse, from {@link Probe.withConnection}. Default: one of its own. */
  readonly agent?: Agent;
}

/** A request and what came of it. */
export interface Exchange extends Outcome {
  /** The request in words. */
  readonly sent: string;
  /** The answer, or that there was none, in words. Secret and digests are masked. */
  readonly received: string;
}

/** Sends requests to one receiver, and remembers what two audits ask of all answers. */
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
  /** How many requests were not answered, apart from those that were broken off on purpose. */
  readonly unanswered: number;
  /** The first exchange whose answer told the digest of what was sent, or the secret. */
  readonly leak: Exchange | undefined;
  /** The first exchange of an ordinary request that took longer than the sender waits. */
  readonly late: Exchange | undefined;
}

/**
 * Prepares to put audits to a receiver one by one, for instance each in a test of its own. {@link certify} does it all
 * at once. Nothing is sent yet.
 *
 * @throws TypeError if an option is not usable; the message says which and why.
 * @example
 * ```ts
 * const probe = createProbe({ url: "http://127.0.0.1:3000/webhooks", secret: "a shared secret" });
 * for (const audit of audits) test(audit.title, async () => expect(await audit.run(probe)).toBeUndefined());
 * ```
 */
export function createProbe(options: ProbeOptions): Probe {
  const endpoint = checkOptions(options);
  const { secret, signal } = options;
  const findings: { leak?: Exchange; late?: Exchange; unanswered: number } = { unanswered: 0 };

  async function send(delivery: Delivery): Promise<Exchange> {
    signal?.throwIfAborted();
    const request = toRequest(delivery, options);
    const outcome = await exchange(endpoint, request);
    signal?.throwIfAborted();
    const telltales = telltalesOf(toBytes(delivery.body), Object.values(request.headers).flat(), secret);
    const done: Exchange = {
      ...outcome,
      sent: describeDelivery(endpoint.url, delivery),
      received: describeOutcome(outcome, [...telltales, secret]),
    };
    if (done.answer === undefined && request.ending === "end") findings.unanswered += 1;
    if (tells(outcome.answer, telltales)) findings.leak ??= done;
    if (delivery.transfer === undefined && done.durationMs > ANSWER_BUDGET_MS) findings.late ??= done;
    return done;
  }

  return {
    url: endpoint.url,
    secret,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    signal,
    sign: (body) => sign(body, secret),
    send,
    sendBytes: (bytes) => sendBytes(endpoint, bytes, 1_000),
    async withConnection(use) {
      const agent = new (endpoint.url.protocol === "https:" ? SecureAgent : Agent)({
        keepAlive: true,
        maxSockets: 1,
      });
      try {
        return await use(agent);
      } finally {
        agent.destroy();
      }
    },
    get unanswered() {
      return findings.unanswered;
    },
    get leak() {
      return findings.leak;
    },
    get late() {
      return findings.late;
    },
  };
}

function toRequest(delivery: Delivery, options: ProbeOptions): OutgoingRequest {
  const { body, method = "POST", transfer = {} } = delivery;
  return {
    method,
    headers: toHeaders(delivery, options),
    body: transfer.pieces ?? toBytes(body),
    ending: transfer.ending ?? "end",
    awaitContinue: transfer.awaitContinue ?? false,
    agent: transfer.agent,
    timeoutMs: transfer.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
}

function toHeaders(delivery: Delivery, options: ProbeOptions): OutgoingRequest["headers"] {
  const { body, method = "POST", signature = sign(body, options.secret), transfer = {} } = delivery;
  const { declaredLength = Buffer.byteLength(body), awaitContinue } = transfer;
  const framing =
    declaredLength === null
      ? { "Transfer-Encoding": "chunked" }
      : { "Content-Length": String(declaredLength) };
  return {
    ...options.headers,
    "User-Agent": "Countersign/1.0",
    ...(method === "POST" && { "Content-Type": "application/json", ...framing }),
    ...(awaitContinue && { Expect: "100-continue" }),
    ...(signature !== null && { "X-Signature": signature }),
    ...delivery.headers,
  };
}

function toBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}
