import type { Outcome } from "../wire/exchange.ts";

/** Whether a proxy gives this status, because the receiver gave none. */
export function isOfProxy(status: number): boolean {
  return status === 502 || status === 504;
}

/** Whether the receiver itself has answered. */
export function hasAnswered({ answer }: Pick<Outcome, "answer">): boolean {
  return answer !== undefined && !isOfProxy(answer.status);
}
