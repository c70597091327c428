import { formatTimestamp } from "@countersign/protocol";
import type { CallOrigin } from "@countersign/sender";
import { readGivenTime } from "./client-habits.ts";
import { readTimestamp } from "./timestamps.ts";

/** A longer `channel` is none: it is not part of what the limit of a call counts. */
const MAX_CHANNEL_LENGTH = 100;

/** What a request says about the way of a message, besides the message itself. */
export interface Arrival {
  /** When the request came in, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** The `sentAt` of the batch; a message's own takes precedence. */
  readonly sentAt?: unknown;
}

/** How a call came here, for destinations that include it in what they send. */
export function readOrigin(
  message: Readonly<Record<string, unknown>>,
  { receivedAt, sentAt }: Arrival,
): CallOrigin {
  const { channel } = message;
  const sent = readTimestamp(message["sentAt"] ?? sentAt);
  const made = readTimestamp(message["originalTimestamp"] ?? readGivenTime(message));
  return {
    receivedAt: formatTimestamp(receivedAt),
    ...(sent !== undefined && { sentAt: formatTimestamp(sent) }),
    ...(made !== undefined && { originalTimestamp: formatTimestamp(made) }),
    ...(typeof channel === "string" && channel.length <= MAX_CHANNEL_LENGTH && { channel }),
  };
}
