import type { Receipt } from "@countersign/sender";

/** A receipt as the API shows it. */
export function receiptJson({ messageId, deliveries, skipped }: Receipt): object {
  return { messageId, deliveries, ...(skipped !== undefined && { skipped }) };
}
