import type { Outcome } from "../wire/exchange.ts";

/** The status of a receiver, or of a proxy before it, that limits the rate of requests. */
export const TOO_MANY_REQUESTS = 429;

/** Whether a proxy gives this status, because the receiver gave none. */
export function isOfProxy(status: number): boolean {
  return status === 502 || status === 504;
}

/** Whether a proxy may give this status in place of a receiver that does not run. Receivers give 503, too. */
export function mayBeOfProxy(status: number): boolean {
  return isOfProxy(status) || status === 503;
}

/** Whether the receiver itself has answered. */
export function hasAnswered({ answer }: Pick<Outcome, "answer">): boolean {
  return answer !== undefined && !isOfProxy(answer.status);
}
