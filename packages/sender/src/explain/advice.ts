import { REJECTIONS } from "../delivery/attempt.ts";
import { DEFAULT_RETRY_POLICY } from "../delivery/retry-policy.ts";
import { hasStatusClass, type AttemptFacts, type ExplainContext } from "./attempt-facts.ts";
import { CLOSED, noAnswer } from "./no-answer-codes.ts";
import { durationText } from "./texts.ts";
import { verdictOf } from "./verdict.ts";
import { isForgery } from "./verdict-kind.ts";
import type { DeliveryFacts } from "./why.ts";

/** What to do about a failed attempt. */
export interface Advice {
  /** The same for every attempt that asks for the same advice: to show it once per endpoint and kind. */
  readonly kind: string;
  /** The likely cause, then what to do. */
  readonly text: string;
  /** What happens to the delivery meanwhile: it is retried, or it must be resent. */
  readonly next: string;
}

/** Facts for {@link adviceFor} besides the attempt. */
export interface AdviceContext extends ExplainContext {
  /**
   * The state of the delivery since the attempt. Default: what follows from the attempt, if no other endpoint has the message
   * and the delivery has time left.
   */
  readonly state?: DeliveryFacts["state"] | undefined;
  /** How long deliveries are tried, in milliseconds. Default: 14,400,000, four hours. */
  readonly retryWindowMs?: number | undefined;
}

const FINAL = "There is no retry: resend the delivery when this is corrected.";
const SENT = "The delivery counts as delivered.";
const CHECK_SECRET =
  "The receiver did not accept the signature. Compare its secret with the one that signs here: a space, a quote or a line break makes them differ.";
const FRAGMENT =
  "The receiver accepted half of a message. Read the body to its Content-Length, and verify the signature before anything else.";
const NOT_SIGNED =
  "The message was sent without a signature. Pass the secret of the receiver with --secret, or as the secret of the destination.";

const AT_THE_END = { delivered: SENT, failed: FINAL, expired: FINAL } as const;

/** The advice for each status. A status that is not listed gets the advice of its class. */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: "The receiver did not understand the request. Its answer or log says why: often a body parser, or a check of fields that this message does not have.",
  401: CHECK_SECRET,
  403: "The receiver, or a firewall in front of it, forbids the request. Check the secret, then protection against CSRF and bots: webhooks must be exempt from it.",
  404: "No route handles this path. Correct the path of the URL, or mount the receiver there.",
  405: "No route handles POST at this path. Correct the path of the URL, or accept POST there.",
  408: "The receiver stopped waiting for the body. Look for a proxy that delays requests, and for a short time limit at the receiver.",
  410: "The receiver says that this endpoint was removed for good. Remove the endpoint, or correct its URL.",
  413: "The receiver, or a proxy in front of it, accepts only smaller bodies. Allow 1 MiB: a message has up to 32 KB, and more with its context.",
  415: "The receiver does not accept application/json. Allow this content type at the path of the webhooks.",
  419: "The receiver's framework wants a CSRF token. Exempt the path of the webhooks: tokens are for browsers.",
  422: "The receiver rejects a field of the message, and its answer says which; or its framework wants a CSRF token, as Rails does: exempt the path of the webhooks.",
  429: "The receiver limits its rate. Lower the concurrency of the destination, or raise the limit.",
  500: "The receiver's handler failed. Its log says why.",
  501: "The receiver does not implement this request. Correct the URL.",
  502: "A proxy answers, but the receiver behind it does not. Start the receiver, or correct the proxy.",
  503: "The receiver says that it is not available now.",
  504: "A proxy answers, but the receiver behind it is too slow. Store the message, answer, and do slow work afterwards.",
};

/**
 * What to do about an attempt: one table for the terminal and the page.
 *
 * @returns `undefined` if nothing needs to be done: a message was delivered, or a forgery was rejected.
 * @example
 * ```ts
 * adviceFor({ endpoint, outcome: "rejected", status: 404, durationMs: 3 }); // { kind: "404", text: "No route handles this path. ...", next: "There is no retry: ..." }
 * ```
 */
export function adviceFor(attempt: AttemptFacts, context: AdviceContext = {}): Advice | undefined {
  const { kind } = verdictOf(attempt, context);
  if (kind === "accepted_forgery") return forgeryAdvice(attempt);
  if (kind === "accepted_fragment") return { kind, text: FRAGMENT, next: SENT };
  if (kind !== "failed") return undefined;
  const advice = attempt.status === undefined ? noAnswerAdvice(attempt) : statusAdvice(attempt, context);
  const { state = REJECTIONS.has(attempt.outcome) ? "failed" : "pending" } = context;
  return { ...advice, next: state === "pending" ? retried(context) : AT_THE_END[state] };
}

function retried({ retryWindowMs = DEFAULT_RETRY_POLICY.windowMs }: AdviceContext): string {
  return `The delivery is retried for ${durationText(retryWindowMs)}.`;
}

function forgeryAdvice({ fault }: AttemptFacts): Advice {
  const text = {
    missing_signature:
      "The receiver accepts messages without a signature, so anyone can send it events. Answer 401 if X-Signature is missing.",
    stale_secret:
      "The receiver accepts a retired secret. Remove old secrets after a rotation; only a test of two secrets accepts this one.",
  }[fault ?? ""];
  const general =
    "The receiver accepts a wrong signature, so anyone can send it events. Verify X-Signature over the raw body before the handler runs, and answer 401 if it differs.";
  return { kind: `accepted_forgery:${fault}`, text: text ?? general, next: SENT };
}

function noAnswerAdvice({ code, outcome, endpoint }: AttemptFacts): Omit<Advice, "next"> {
  const known = noAnswer(code, outcome);
  const { cause, fix } = known;
  const kind = code ?? outcome;
  if (code === "ECONNREFUSED")
    return { kind, text: `Is the receiver running at ${hostOf(endpoint)}? ${fix}` };
  const isPlain = known === CLOSED && endpoint.startsWith("http:");
  return {
    kind,
    text: `${cause} ${fix}${isPlain ? " If its port speaks TLS, write https:// in the URL." : ""}`,
  };
}

function statusAdvice(attempt: AttemptFacts, { signed = true }: ExplainContext): Omit<Advice, "next"> {
  const status = attempt.status ?? 0;
  const kind = String(status);
  if (isForgery(attempt.fault) && !hasStatusClass(attempt, 4))
    return {
      kind: `forgery:${kind}`,
      text: `The receiver neither accepted nor rejected the forgery. It should answer 401: ${status} makes the service send it again.`,
    };
  if (status === 401 && !signed) return { kind: "401:unsigned", text: NOT_SIGNED };
  if (hasStatusClass(attempt, 3)) return { kind: "redirect", text: redirectAdvice(attempt) };
  const known = BY_STATUS[status];
  if (known !== undefined) return { kind, text: known };
  if (hasStatusClass(attempt, 5)) return { kind, text: "The receiver failed. Its log says why." };
  return { kind, text: "The receiver rejected the message. Its answer or log says why." };
}

/** Hosts and paths of pages on which a person is to log in. */
const LOGIN = /\b(?:(?:log|sign)[-_]?in(?!g)|(?:sso|saml2?|oauth2?|auth|authorize|idp)\b)/iu;

function redirectAdvice({ endpoint, responseHeaders, message }: AttemptFacts): string {
  const location = responseHeaders?.["location"] ?? /^answered \d+ to (\S+);/.exec(message ?? "")?.[1];
  if (location === undefined) return redirected("the address it redirects to");
  if (!URL.canParse(location, endpoint)) return redirected(location);
  const { href, host, pathname } = new URL(location, endpoint);
  return LOGIN.test(host + pathname)
    ? `The receiver, or a proxy in front of it, wants a login: it redirects to ${href}. Let requests to the path of the webhook in without a login. The signature of a message says who sent it.`
    : redirected(href);
}

function redirected(where: string): string {
  return `The receiver redirects, and redirects are not followed. Use ${where} as the URL. Often only a trailing slash, or https, differs.`;
}

function hostOf(endpoint: string): string {
  return URL.canParse(endpoint) ? new URL(endpoint).host : endpoint;
}
