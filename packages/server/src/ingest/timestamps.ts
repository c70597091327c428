const iso =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)? ?(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

/** Numbers from here on are milliseconds since 1970, smaller ones seconds: 1973 in the one reading, 5138 in the other. */
const FIRST_MILLISECONDS = 1e11;

/**
 * Reads a timestamp in any form that published clients send, as milliseconds since 1970: ISO 8601 with no fraction or up to
 * nanoseconds, with `Z`, `+0000`, `+00:00` or no zone (then UTC), with a space for the T, a date alone, or a number.
 * Fractions beyond milliseconds are cut off.
 *
 * @returns `undefined` when it is none of these, or a day that does not exist.
 */
export function parseTimestamp(value: unknown): number | undefined {
  if (typeof value === "number") {
    const milliseconds = Math.trunc(Math.abs(value) < FIRST_MILLISECONDS ? value * 1_000 : value);
    return isFourDigitYear(milliseconds) ? milliseconds : undefined;
  }
  const match = typeof value === "string" ? iso.exec(value.trim()) : null;
  if (!match) return undefined;
  const [, date, hour = "00", minute = "00", second = "00", fraction = "", zone] = match;
  const local = Date.parse(`${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  // Date.parse lets 30 February pass as 1 March.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(`${date}T`)) return undefined;
  const milliseconds = local - offsetMinutes(zone) * 60_000;
  return isFourDigitYear(milliseconds) ? milliseconds : undefined;
}

function offsetMinutes(zone = "Z"): number {
  if (zone.toUpperCase() === "Z") return 0;
  const sign = zone.startsWith("-") ? -1 : 1;
  return sign * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(":", "") || 0));
}

/** Only these print as the ISO 8601 form that the message promises. */
function isFourDigitYear(milliseconds: number): boolean {
  return milliseconds >= -62_167_219_200_000 && milliseconds <= 253_402_300_799_999;
}

/** The three times that clock correction looks at, in milliseconds since 1970. */
export interface ClientTimes {
  /** When our server received the request, by our clock. */
  readonly receivedAt: number;
  /** When the client sent it, by the client's clock. */
  readonly sentAt?: number | undefined;
  /** When the call was made, by the client's clock. */
  readonly originalTimestamp?: number | undefined;
}

/**
 * When a call was made, by our clock: `receivedAt - (sentAt - originalTimestamp)`, so that a client whose clock is wrong by
 * an hour is not an hour off. Without a `sentAt` the client's time stands; without any time, ours.
 *
 * @returns `undefined` when the result leaves the years 0 to 9999.
 */
export function correctClockSkew(times: ClientTimes): number | undefined {
  const { receivedAt, sentAt, originalTimestamp } = times;
  if (originalTimestamp === undefined) return receivedAt;
  if (sentAt === undefined) return originalTimestamp;
  const corrected = receivedAt - (sentAt - originalTimestamp);
  return isFourDigitYear(corrected) ? corrected : undefined;
}
