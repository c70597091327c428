import { codeOf, isError, messageOf, parseRetryAfter } from "@countersign/protocol";
import type { RejectionReason } from "./outcome.ts";
import type { TransportResponse } from "./transport.ts";

/** The result of an attempt to send a batch. */
export type Answer = Accepted | Refused | TryLater;

/** The service has the batch. */
interface Accepted {
  readonly kind: "accepted";
}

/** The service does not accept the batch, now or later. It may accept parts of it if `divisible`. */
interface Refused {
  readonly kind: "refused";
  readonly reason: RejectionReason;
  readonly statusCode: number;
  readonly divisible: boolean;
  readonly detail: string;
}

/** The same batch may be accepted later. */
export interface TryLater {
  readonly kind: "try-later";
  /** Whether the service may have stored the batch, and only its answer was lost. */
  readonly mayBeStored: boolean;
  /** Whether every other batch would be rejected, too. */
  readonly pausesAll: boolean;
  /** Whether the service asked, with a 429, to wait. That is a rate limit, not a failure of the batch. */
  readonly paced: boolean;
  /** Milliseconds the service asked to wait. */
  readonly retryAfter: number;
  readonly detail: string;
}

const SEE_ANSWER = "See what it says about the message.";
const CHECK_KEY = "Check the write key.";
const CHECK_ENDPOINT = "Check `endpoint`.";

/** What a status means that says what is wrong, and what to do about it. */
const REFUSALS: Readonly<Record<number, readonly [reason: RejectionReason, advice: string]>> = {
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
 */
export function readAnswer(
  { status, headers, body }: TransportResponse,
  now: number,
  quote: (text: string) => string,
): Answer {
  const said = quote(body.trim());
  const detail = `The endpoint answered ${status}${said && `: ${said}`}.`;
  const refused = (reason: RejectionReason, advice: string): Refused => {
    const divisible = status === 400 || status === 413;
    return { kind: "refused", reason, statusCode: status, divisible, detail: `${detail} ${advice}` };
  };

  const isSuccess = status >= 200 && status < 300;
  const verdict = isSuccess ? successOf(body) : undefined;
  if (verdict === true) return { kind: "accepted" };
  if (verdict === false) return refused("refused", SEE_ANSWER);
  if (isSuccess || status === 408 || status === 429 || status >= 500) {
    const retryAfter = parseRetryAfter(headers.get("retry-after"), now, headers.get("date")) ?? 0;
    return {
      kind: "try-later",
      // 408 and 429 are refusals. A 5xx can come from a proxy in front of a service that did store.
      mayBeStored: status !== 408 && status !== 429,
      pausesAll: status === 429 || status === 503,
      paced: status === 429 && retryAfter > 0,
      retryAfter,
      detail: isSuccess ? `${detail} That is not the service's answer. ${CHECK_ENDPOINT}` : detail,
    };
  }
  if (status >= 300 && status < 400) {
    const location = quote(headers.get("location") ?? "");
    return refused("redirected", location ? `Set \`endpoint\` to ${location}.` : CHECK_ENDPOINT);
  }
  return refused(...(REFUSALS[status] ?? ["refused", CHECK_ENDPOINT]));
}

/** The answer of an endpoint that gave none. */
export function noAnswer(error: unknown, sanitize: (text: string) => string): TryLater {
  const root = rootOf(error);
  // These say that no connection came about. After anything else the request may have arrived.
  const unsent = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(
    codeOf(root) ?? "",
  );
  return {
    kind: "try-later",
    mayBeStored: !unsent,
    pausesAll: false,
    paced: false,
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
