import { isOfProxy, mayBeOfProxy, TOO_MANY_REQUESTS } from "../probe/has-answered.ts";
import type { Exchange, Probe } from "../probe/probe.ts";
import { problemCodeOf } from "../probe/problem-code.ts";
import type { Answer } from "../wire/exchange.ts";
import { isAccepted, PROXY_ADVICE } from "./expectations.ts";
import { freshText } from "./messages.ts";
import { MADE_UP_SIGNATURE } from "./signatures.ts";
import { DIGEST, type Diagnosis, SAME_SECRET, suspicions } from "./suspicions.ts";

/** What frameworks answer to a form without their token: Django 403, Laravel 419, Rails 422. */
const OF_TOKENS: ReadonlySet<number> = new Set([403, 419, 422]);

/** To be added to an advice. */
const SHORTER_IS_ACCEPTED =
  " A track message with no other fields than type, event, userId and messageId is accepted: look for what reads the others.";

/**
 * Finds out why a plain, correctly signed track message is not accepted: it sends the same in the forms that receivers with a
 * known fault accept.
 *
 * @param rejection - The exchange in which it was not accepted.
 */
export async function diagnoseRejection(probe: Probe, rejection: Exchange): Promise<Diagnosis> {
  const { answer } = rejection;
  if (answer === undefined) return diagnoseSilence(rejection);
  const { status } = answer;
  const before = diagnoseStatus(status) ?? diagnoseProblem(answer);
  if (before !== undefined) return before;
  const forged = await probe.send({
    what: "a track message with a made-up signature",
    body: freshText("track"),
    signature: MADE_UP_SIGNATURE,
  });
  const unrouted = diagnoseRoute(probe, status, forged);
  if (unrouted !== undefined) return unrouted;
  // A proxy that tries for some seconds does so with each of the many forms.
  const mayBeAway = mayBeOfProxy(status) && mayBeOfProxy(forged.answer?.status ?? status);
  const until = performance.now() + (mayBeAway ? probe.timeoutMs / 2 : Number.POSITIVE_INFINITY);
  for (const { delivery, refuting, cause, advice } of suspicions(probe)) {
    if (performance.now() > until) break;
    if (!isAccepted(await probe.send(delivery))) continue;
    const isRefuted = refuting !== undefined && isAccepted(await probe.send(refuting));
    return isRefuted ? diagnoseMessage(status, SHORTER_IS_ACCEPTED) : { cause, advice };
  }
  if (status >= 500) return diagnoseError(status, mayBeAway, forged);
  if (forged.answer?.status !== status) return diagnoseMessage(status);
  const inFront = diagnoseLogin(answer) ?? diagnoseTokens(answer);
  if (inFront !== undefined) return inFront;
  const mayBeTokens = OF_TOKENS.has(status);
  const mayBeMessage = status === 401 || status === 403 ? "" : `, or it answers ${status} to every message`;
  return {
    cause: `its secret is a different one, or it signs something other than the body${mayBeMessage}`,
    advice: {
      ...SAME_SECRET,
      text: `${mayBeMessage && "The body of the response may say what is wrong. If it does not: "}${SAME_SECRET.text} If they are the same: ${DIGEST.text} A proxy in front of the receiver must pass the header and the body on as they are.${mayBeTokens ? ` A framework that protects forms against CSRF answers ${status}, too: exempt this path.` : ""}`,
      hint: mayBeTokens ? ["digest", "header", "csrf"] : ["digest", "header"],
    },
  };
}

/** What it does not accept is the message, not the signature. */
function diagnoseMessage(status: number, more = ""): Diagnosis {
  if (status >= 500) {
    return {
      cause: `the signature is right, and the handler fails (${status})`,
      advice: { text: `Look for the error in the receiver's log, and correct the handler.${more}` },
    };
  }
  return {
    cause: `the signature is right, and the message is rejected with ${status}`,
    advice: {
      text: `Accept every track message of the documented form: after a 4xx it is not sent again. The body of the response may say what is missing. Parse the bytes that were signed: a body that is read a second time is empty.${more}`,
    },
  };
}

/** An error of the receiver: in the handler if a forgery does not get there, otherwise before the signature decides. */
function diagnoseError(status: number, mayBeAway: boolean, forged: Exchange): Diagnosis {
  const forgedStatus = forged.answer?.status ?? status;
  if (forgedStatus >= 400 && forgedStatus < 500) return diagnoseMessage(status);
  if (isOfProxy(status)) {
    return { cause: `a proxy gets no answer from the receiver (${status})`, advice: { text: PROXY_ADVICE } };
  }
  const log =
    "Look for the error in the receiver's log. Often the secret is not set, something has read the body before the check, or the handler runs before it.";
  if (mayBeAway) {
    return {
      cause: `every message gets ${status}: from the receiver, or from a load balancer while none runs behind it`,
      advice: {
        text: `See that the receiver runs, and that the load balancer reaches it and finds it healthy. If it answers ${status} itself: ${log}`,
      },
    };
  }
  return {
    cause: `it fails before it has checked the signature (${status})`,
    advice: { text: log, hint: "secret" },
  };
}

function diagnoseSilence({ timedOut, error, durationMs }: Exchange): Diagnosis {
  if (!timedOut) {
    return {
      cause: `the connection ends without an answer: ${error}`,
      advice: { text: "Look for a crash in the receiver's log, and answer every request." },
    };
  }
  return {
    cause: `no answer within ${seconds(durationMs)}; the sender gives up at 5 s`,
    advice: {
      text: "Answer on every path of the handler, and within five seconds: store the message, answer, and process it afterwards. A body parser that runs after the check waits for ever: the body has been read.",
      hint: "later",
    },
  };
}

/** What a receiver of `@countersign/core` has said itself, of a request that had the header and the body. */
function diagnoseProblem(answer: Answer): Diagnosis | undefined {
  const code = problemCodeOf(answer);
  if (code === "ERR_SIGNATURE_MISSING") {
    return {
      cause: "X-Signature was sent, and does not reach it",
      advice: {
        text: "Let the proxy in front of the receiver pass the header X-Signature on: something removes it.",
      },
    };
  }
  if (code === "ERR_BODY_ALREADY_READ") {
    return {
      cause:
        "something reads the body before verifyWebhook(), and does not keep its bytes (ERR_BODY_ALREADY_READ)",
      advice: {
        text: "Mount verifyWebhook() before what reads the body, such as a body parser, and only once. The hint of the error, which onRejected gets, names the change for the framework.",
      },
    };
  }
  return undefined;
}

/** No route, unless a forgery gets as far as the check: many frameworks answer so where a handler sets no response. */
function diagnoseRoute({ url }: Probe, status: number, forged: Exchange): Diagnosis | undefined {
  if (status !== 404 && status !== 405) return undefined;
  if (forged.answer?.status === 401 || forged.answer?.status === 403) {
    return {
      cause: `the signature is right, and the handler ends with ${status}`,
      advice: {
        text: "Answer 2xx when the message was handled: after a 4xx it is not sent again. Frameworks answer 404 where a handler sets no response, such as Koa without ctx.status, and Feathers on Koa without ctx.body.",
      },
    };
  }
  return {
    cause: `no route accepts POST at ${url.pathname} (${status})`,
    advice: { text: "Check the path of the URL, and that POST is routed there." },
  };
}

/** What asks for a login is usually in front of the receiver. Some frameworks do so for each 401. */
function diagnoseLogin({ status, headers }: Answer): Diagnosis | undefined {
  const scheme = /^www-authenticate: *(basic|digest|negotiate|ntlm)\b/im.exec(headers)?.[1];
  if (status !== 401 || scheme === undefined) return undefined;
  return {
    cause: `something asks for a login (401, WWW-Authenticate: ${scheme})`,
    advice: {
      ...SAME_SECRET,
      text: `If that is a proxy: let it leave out this path, or add a static header Authorization to the destination, and to this audit. If it is the receiver: ${SAME_SECRET.text}`,
    },
  };
}

/** The protection of a framework against forms of other sites takes a webhook for one. */
function diagnoseTokens({ status, body }: Answer): Diagnosis | undefined {
  if (status !== 419 && !/\bcsrf (?:token|verification)|InvalidAuthenticityToken/iu.test(body))
    return undefined;
  return {
    cause: `its framework refuses it for want of a CSRF token (${status})`,
    advice: {
      text: "Exempt this path from the protection against CSRF: it is for browsers, and the signature protects webhooks.",
      hint: "csrf",
    },
  };
}

function diagnoseStatus(status: number): Diagnosis | undefined {
  if (status === 413) {
    return {
      cause: "messages of a few hundred bytes are too large for it (413)",
      advice: {
        text: "Raise the size limit, in the receiver and in any proxy before it, to at least 64 KiB.",
        hint: "limit",
      },
    };
  }
  if (status === 415) {
    return {
      cause: "it does not accept Content-Type: application/json (415)",
      advice: { text: "Accept application/json: the sender sends nothing else." },
    };
  }
  if (status === TOO_MANY_REQUESTS) {
    return {
      cause: "it limits the rate of requests (429)",
      advice: { text: "Run the audits against an instance without the limit." },
    };
  }
  if (status >= 300 && status < 400) {
    return {
      cause: `it redirects (${status}), and the sender does not follow`,
      advice: { text: "Answer at this URL, or audit the one that it redirects to." },
    };
  }
  return undefined;
}

/** Milliseconds as text: `6.0 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
