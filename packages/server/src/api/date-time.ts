import { parseTimestamp } from "@countersign/protocol";

const DATE_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/iu;

/** Whether a text is what the API calls a `date-time`: a date, a time and an offset (RFC 3339), of a time that exists. */
export function isDateTime(text: string): boolean {
  return DATE_TIME.test(text) && parseTimestamp(text) !== undefined;
}
