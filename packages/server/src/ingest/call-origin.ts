import { formatTimestamp } from "@countersign/protocol";
import type { CallOrigin } from "@countersign/sender";
import { type ClientTimes, readTimestamp } from "./timestamps.ts";

/** A longer `channel` is none: it is not part of what the limit of a call counts. */
const MAX_CHANNEL_LENGTH = 100;

/** How a call came here, for destinations that include it in what they send. */
export function readOrigin(
  message: Readonly<Record<string, unknown>>,
  { receivedAt, sentAt, originalTimestamp }: ClientTimes,
): CallOrigin {
  const { channel } = message;
  const given = message["originalTimestamp"] ?? undefined;
  const made = given === undefined ? originalTimestamp : readTimestamp(given);
  return {
    receivedAt: formatTimestamp(receivedAt),
    ...(sentAt !== undefined && { sentAt: formatTimestamp(sentAt) }),
    ...(made !== undefined && { originalTimestamp: formatTimestamp(made) }),
    ...(typeof channel === "string" && channel.length <= MAX_CHANNEL_LENGTH && { channel }),
  };
}
