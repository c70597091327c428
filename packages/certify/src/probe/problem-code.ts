import type { WebhookErrorCode } from "@countersign/core";
import type { Answer } from "../wire/exchange.ts";

/** The code of a receiver of `@countersign/core` that has rejected a request: its problem document has one. */
export function problemCodeOf(answer: Answer | undefined): WebhookErrorCode | undefined {
  const found = /"code":"(ERR_[A-Z_]+)"/u.exec(answer?.body ?? "")?.[1];
  return found as WebhookErrorCode | undefined;
}
