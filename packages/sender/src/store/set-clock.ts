import { durationText } from "../explain/texts.ts";

/** A clock that differs by more is told of, in milliseconds: deliveries would expire, or be retried early or late. */
export const LARGEST_SKEW_MS = 1_000;

/** By how many milliseconds the clock of this machine was set, in words; negative: back. */
export function clockWasSet(byMs: number): string {
  return `The clock of this machine was set ${byMs > 0 ? "forward" : "back"} by ${durationText(Math.abs(byMs))}.`;
}
