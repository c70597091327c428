import { durationText } from "@countersign/sender/explain";
import { LARGEST_SKEW_MS } from "@countersign/sender/store";

/** One reading of the database's time. */
export interface Reading {
  /** This process' clock before and after, in milliseconds since 1970. */
  readonly before: number;
  readonly after: number;
  /** The database's, in milliseconds since 1970. */
  readonly database: number;
}

/** By how many milliseconds this process' clock is ahead of the database's at least, negative if behind; 0 if they may agree. */
export function skewOf({ before, after, database }: Reading): number {
  if (database < before) return before - database;
  return database > after ? after - database : 0;
}

/** Why a clock is not safe; undefined if it is. */
export function unsafeClock(reading: Reading): string | undefined {
  const skew = skewOf(reading);
  if (Math.abs(skew) <= LARGEST_SKEW_MS) return undefined;
  const how = `${durationText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"}`;
  return `The clock of this machine is ${how} the clock of the database. Nothing is accepted or delivered here until they agree to within 1 s: synchronise both, with NTP.`;
}
