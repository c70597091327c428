import { isOfProxy, TOO_MANY_REQUESTS } from "../probe/has-answered.ts";
import type { Delivery, Exchange, Probe } from "../probe/probe.ts";
import { adviceFor, type Advice } from "./advice.ts";
import type { AuditFailure } from "./audit.ts";

/** What an exchange should have been; `fix` says what to change if it was not. */
export type Expectation = (exchange: Exchange, fix: string) => AuditFailure | undefined;

/** What is expected of an authentic message, in words. */
export const ACCEPTED = "2xx: the message is authentic";

/** What is expected of what a receiver will never accept, in words. */
export const REJECTED = "4xx: a final rejection, so that the message is not sent again";

/** What to do about an answer of a proxy that got none from the receiver. */
export const PROXY_ADVICE =
  "Start the receiver, or correct the address to which the proxy in front of it leads. The log of the proxy has the reason.";

/** The receiver accepted the message: 2xx. */
export const accepted: Expectation = (exchange, fix) => {
  const status = exchange.answer?.status;
  if (isAccepted(exchange)) return undefined;
  return failure(exchange, ACCEPTED, commonFix(status) ?? fix);
};

/** The receiver rejected the request, and said so: 4xx. */
export const rejected: Expectation = (exchange, fix) => {
  const status = exchange.answer?.status;
  if (status !== undefined && status >= 400 && status < 500 && !isPassing(status)) return undefined;
  return failure(exchange, REJECTED, rejectionFix(status, fix));
};

/** The receiver came to a decision, whichever: 2xx or 4xx. */
export const decided: Expectation = (exchange, fix) =>
  isAccepted(exchange) ? undefined : withExpected(rejected(exchange, fix), "2xx or 4xx, never 5xx");

/** The receiver answered with one of these statuses. */
export function answeredWith(...statuses: readonly number[]): Expectation {
  return (exchange, fix) => {
    const status = exchange.answer?.status;
    if (status !== undefined && statuses.includes(status)) return undefined;
    return failure(exchange, statuses.join(" or "), fix);
  };
}

/** Sends deliveries one after another; the first that is not as expected is the failure. */
export async function sendEach(
  probe: Probe,
  deliveries: Iterable<Delivery>,
  expectation: Expectation,
  advice: Advice,
): Promise<AuditFailure | undefined> {
  const fix = adviceFor(advice, probe);
  for (const delivery of deliveries) {
    const failed = expectation(await probe.send(delivery), fix);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** Whether the answer was 2xx. */
export function isAccepted({ answer }: Exchange): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}

/** The failure of an exchange; `cause` says more than its answer, if something is known. */
export function failure(
  exchange: Exchange,
  expected: string,
  fix: string,
  cause: string = causeOf(exchange),
): AuditFailure {
  return { cause, sent: exchange.sent, expected, received: exchange.received, fix };
}

function causeOf({ answer, error }: Exchange): string {
  if (answer === undefined) return `no answer: ${error}`;
  return answer.status < 300 ? `accepted it with ${answer.status}` : `answered ${answer.status}`;
}

function withExpected(failed: AuditFailure | undefined, expected: string): AuditFailure | undefined {
  return failed && { ...failed, expected };
}

/** Statuses that ask a sender to try again: these reject nothing. */
function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === TOO_MANY_REQUESTS;
}

function rejectionFix(status: number | undefined, fix: string): string {
  if (status === undefined) {
    return `${fix} Answer the requests that you reject, too: without an answer the sender tries again for four hours.`;
  }
  if (isOfProxy(status)) {
    return `${fix} A proxy got no answer from the receiver: it does not run, or has ended the connection.`;
  }
  if (status >= 500) {
    return `${fix} To the sender a 5xx means "try again", and it will for four hours.`;
  }
  return commonFix(status) ?? fix;
}

/** What to do about an answer that has nothing to do with the rule. */
function commonFix(status: number | undefined): string | undefined {
  if (status === TOO_MANY_REQUESTS)
    return "The receiver limits its rate. Run the audits against an instance without the limit.";
  if (status !== undefined && status >= 300 && status < 400) {
    return "Answer at this URL, or audit the one that it redirects to: the sender does not follow redirects.";
  }
  return undefined;
}
