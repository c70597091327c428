import type { Audit } from "./audit.ts";
import { acceptsMessages } from "./accepts-messages.ts";
import { acceptsTransfers } from "./accepts-transfers.ts";
import { foundations } from "./foundations.ts";
import { rejectsBadRequests } from "./rejects-bad-requests.ts";
import { rejectsForgeries } from "./rejects-forgeries.ts";
import { rejectsTooLarge } from "./rejects-too-large.ts";
import { survives } from "./survives.ts";
import { aboutEveryAnswer, takesDeliveries } from "./takes-deliveries.ts";

/**
 * Every rule for receivers, in the order in which {@link certify} checks them: the foundations, what a receiver must accept,
 * what it must reject, what it must survive, and what holds for all its answers.
 *
 * @example
 * ```ts
 * for (const { id, level, title } of audits) console.log(level, id, title);
 * ```
 */
export const audits: readonly Audit[] = [
  ...foundations,
  ...acceptsMessages,
  ...acceptsTransfers,
  ...takesDeliveries,
  ...rejectsForgeries,
  ...rejectsBadRequests,
  ...rejectsTooLarge,
  ...survives,
  ...aboutEveryAnswer,
];
