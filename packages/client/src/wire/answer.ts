import { codeOf, isError, messageOf, parseRetryAfter } from "@countersign/protocol";
import type { Delivered, Rejected, RejectionReason } from "../outcome.ts";
import type { TransportResponse } from "./transport.ts";

/** The result of an attempt to send a batch: the outcome of its messages, unless it is to be sent again. */
export type Answer = Delivered | Rejected | TryLater;

/** The same batch may be accepted later. */
export interface TryLater {
  readonly status: "try-later";
  /** Whether the service may have stored the batch, and only its answer was lost. */
  readonly mayBeStored: boolean;
  /** Whether every other batch would be rejected, too. */
  readonly pausesAll?: boolean;
  /** Whether the service asked, with a 429, to wait. That is a rate limit, not a failure of the batch. */
  readonly paced?: boolean;
  /** Milliseconds the service asked to wait. */
  readonly retryAfter: number;
  readonly detail: string;
}

const SEE_ANSWER = "See what it says about the message.";
const CHECK_KEY = "Check the write key.";
const CHECK_ENDPOINT = "Check `endpoint`.";

/** Why a message was rejected that was answered with one of these statuses, and what to do about it. */
const REJECTIONS: Readonly<Record<number, readonly [reason: RejectionReason, advice: string]>> = {
  400: ["bad-request", SEE_ANSWER],
  401: ["unauthorized", CHECK_KEY],
  403: ["unauthorized", CHECK_KEY],
  413: ["too-large", "Send a smaller message."],
};

/**
 * Reads an answer. Only a success that looks like the service's own counts: a proxy's or a captive portal's page with
 * status 200 does not prove that the service has anything.
 *
 * @param now - Milliseconds since 1970, for a Retry-After that is a date.
 * @param quote - Makes what the endpoint said fit for a log, and short.
 * @param mayBeStored - Whether an earlier attempt went unanswered.
 */
export function readAnswer(
  { status, headers, body }: TransportResponse,
  now: number,
  quote: (text: string) => string,
  mayBeStored: boolean,
): Answer {
  const said = quote(body.trim());
  const detail = `The endpoint answered ${status}${said && `: ${said}`}.`;
  const rejected = (reason: RejectionReason, advice: string): Rejected => {
    return { status: "rejected", reason, statusCode: status, detail: `${detail} ${advice}`, mayBeStored };
  };

  const isSuccess = status >= 200 && status < 300;
  const verdict = isSuccess ? successOf(body) : undefined;
  if (verdict === true) return { status: "delivered" };
  if (verdict === false) return rejected("refused", SEE_ANSWER);
  if (isSuccess || status === 408 || status === 429 || status >= 500) {
    const retryAfter = parseRetryAfter(headers.get("retry-after"), now, headers.get("date")) ?? 0;
    return {
      status: "try-later",
      // With 408 and 429 it says that it did not. A 5xx can come from a proxy in front of a service that did store.
      mayBeStored: status !== 408 && status !== 429,
      pausesAll: status === 429 || status === 503,
      paced: status === 429 && retryAfter > 0,
      retryAfter,
      detail: isSuccess ? `${detail} That is not the service's answer. ${CHECK_ENDPOINT}` : detail,
    };
  }
  // In a browser, which hides an answer that redirects, it is 0.
  if (status < 400) {
    const location = quote(headers.get("location") ?? "");
    return rejected("redirected", location ? `Set \`endpoint\` to ${location}.` : CHECK_ENDPOINT);
  }
  return rejected(...(REJECTIONS[status] ?? ["refused", CHECK_ENDPOINT]));
}

/** Codes that say that no connection came about. After anything else the request may have arrived. */
const UNCONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

/** The answer of an endpoint that gave none. */
export function noAnswer(error: unknown, sanitize: (text: string) => string): TryLater {
  const root = rootOf(error);
  return {
    status: "try-later",
    mayBeStored: !UNCONNECTED.test(codeOf(root) ?? ""),
    retryAfter: 0,
    detail: `The endpoint did not answer: ${sanitize(messageOf(root))}. ${CHECK_ENDPOINT}`,
  };
}

/** True: the service's success. False: it says itself that it failed. Undefined: a web page, not a service. */
function successOf(body: string): boolean | undefined {
  if (body.trimStart().startsWith("<")) return undefined;
  try {
    return (JSON.parse(body) as { readonly success?: unknown } | null)?.success !== false;
  } catch {
    // Nothing, or a plain "OK": services that speak this format differ in what they say.
    return true;
  }
}

/** fetch says "fetch failed" and keeps what happened in `cause`. */
function rootOf(error: unknown): unknown {
  return isError(error) && isError(error.cause) ? rootOf(error.cause) : error;
}
