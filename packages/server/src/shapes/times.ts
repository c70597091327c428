/** A time as the API writes it: ISO 8601 in UTC. */
export { formatTimestamp as iso } from "@countersign/protocol";

/** A duration as the API writes it: milliseconds with one decimal. */
export function roundedMs(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}
