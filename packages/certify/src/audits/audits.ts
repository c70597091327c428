import type { Audit } from "./audit.ts";
import { acceptsMessages } from "./accepts-messages.ts";
import { acceptsTransfers } from "./accepts-transfers.ts";
import { rejectsBadRequests } from "./rejects-bad-requests.ts";
import { rejectsForgeries } from "./rejects-forgeries.ts";
import { rejectsTooLarge } from "./rejects-too-large.ts";
import { survives } from "./survives.ts";
import { aboutEveryAnswer, takesDeliveries } from "./takes-deliveries.ts";

/**
 * Every rule that a receiver is held to, in the order in which {@link certify} puts them: what it must take, what it
 * must refuse, what it must survive, and what holds for all its answers.
 *
 * @example
 * ```ts
 * for (const { id, level, title } of audits) console.log(level, id, title);
 * ```
 */
export const audits: readonly Audit[] = [
  ...acceptsMessages,
  ...acceptsTransfers,
  ...takesDeliveries,
  ...rejectsForgeries,
  ...rejectsBadRequests,
  ...rejectsTooLarge,
  ...survives,
  ...aboutEveryAnswer,
];
