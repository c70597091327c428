import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { sign, warnOfSecrets } from "@countersign/core";
import { exchange, sendBytes, type OutgoingRequest } from "../wire/exchange.ts";
import { checkOptions } from "./check-options.ts";
import { describeDelivery, describeOutcome } from "./describe-exchange.ts";
import { hasAnswered, mayBeOfProxy, TOO_MANY_REQUESTS } from "./has-answered.ts";
import type { Delivery, Exchange, Probe, ProbeOptions } from "./probe.ts";
import { problemCodeOf } from "./problem-code.ts";
import { tells, telltalesOf } from "./telltales.ts";

/** How long the sender waits for an answer (spec 4.1), in ms. */
export const ANSWER_BUDGET_MS = 5_000;

/** How many late answers are kept: more say no more. */
const MAX_LATE_KEPT = 10;

const DEFAULT_TIMEOUT_MS = 2 * ANSWER_BUDGET_MS;

/**
 * Prepares to run audits one by one, for instance each in its own test. {@link certify} runs them all. Nothing is sent yet.
 *
 * @throws TypeError if an option is unknown or wrong; the message says which and why.
 * @example
 * ```ts
 * const probe = createProbe({ url: "http://127.0.0.1:3000/webhooks", secret: "a shared secret" });
 * for (const audit of audits) it(audit.title, async () => expect(await audit.run(probe)).toBeUndefined());
 * ```
 */
export function createProbe(options: ProbeOptions): Probe {
  const endpoint = checkOptions("createProbe()", options);
  const { secret } = options;
  warnOfSecrets([secret]);
  const { signal } = endpoint;
  const findings: { leak?: Exchange } & Record<"unanswered" | "limited", number> &
    Record<"isRunning" | "isCountersign", boolean> = {
    unanswered: 0,
    limited: 0,
    isRunning: false,
    isCountersign: false,
  };
  const late: Exchange[] = [];

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
    if (!hasAnswered(done) && request.ending === "end") findings.unanswered += 1;
    if (outcome.answer?.status === TOO_MANY_REQUESTS) findings.limited += 1;
    findings.isRunning ||= outcome.answer !== undefined && !mayBeOfProxy(outcome.answer.status);
    findings.isCountersign ||= problemCodeOf(outcome.answer) !== undefined;
    if (tells(outcome.answer, telltales)) findings.leak ??= done;
    const isLate = delivery.transfer === undefined && done.durationMs > ANSWER_BUDGET_MS;
    if (isLate && late.length < MAX_LATE_KEPT) late.push(done);
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
    get limited() {
      return findings.limited;
    },
    get isRunning() {
      return findings.isRunning;
    },
    get isCountersign() {
      return findings.isCountersign;
    },
    get leak() {
      return findings.leak;
    },
    late,
    language: options.language,
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
