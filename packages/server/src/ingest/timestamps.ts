import { isTimestamp, parseTimestamp } from "@countersign/protocol";

/** Numbers from here on are milliseconds since 1970, smaller ones seconds: 1973 in the one reading, 5138 in the other. */
const FIRST_MILLISECONDS = 1e11;

/**
 * Reads a timestamp in any form that published clients send. That is ISO 8601, as everywhere, with spaces around it, or a
 * number of seconds or milliseconds.
 *
 * @returns Milliseconds since 1970, or `undefined` for anything else, and for a day that does not exist.
 */
export function readTimestamp(value: unknown): number | undefined {
  if (typeof value === "string") return parseTimestamp(value.trim());
  if (typeof value !== "number") return undefined;
  const milliseconds = Math.trunc(Math.abs(value) < FIRST_MILLISECONDS ? value * 1_000 : value);
  return isTimestamp(milliseconds) ? milliseconds : undefined;
}

/** The three times that clock correction looks at, in milliseconds since 1970. */
export interface ClientTimes {
  /** When the server received the request, by the server's clock. */
  readonly receivedAt: number;
  /** When the client sent it, by the client's clock. */
  readonly sentAt?: number | undefined;
  /** When the call was made, by the client's clock. */
  readonly originalTimestamp?: number | undefined;
}

/**
 * When a call was made, by the server's clock: `receivedAt - (sentAt - originalTimestamp)`. A client whose clock is an hour
 * off then reports the right time. Without a `sentAt` the client's time is kept, and also where the corrected one would
 * leave the years 0 to 9999; without any time, it is `receivedAt`.
 */
export function correctClockSkew(times: ClientTimes): number {
  const { receivedAt, sentAt, originalTimestamp } = times;
  if (originalTimestamp === undefined) return receivedAt;
  if (sentAt === undefined) return originalTimestamp;
  const corrected = receivedAt - (sentAt - originalTimestamp);
  return isTimestamp(corrected) ? corrected : originalTimestamp;
}
