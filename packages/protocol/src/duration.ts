import { describeValue } from "./json.ts";

/** A length of time: milliseconds as a number, or a number with its unit, such as `"250ms"`, `"5s"`, `"4h"`, `"7d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Converts a {@link Duration} to whole milliseconds.
 *
 * @param value - The duration.
 * @param name - What it belongs to, for the error: `createSender({ attemptTimeout })`.
 * @throws TypeError if the value is negative, not finite, or text in another form.
 */
export function parseDuration(value: Duration, name: string): number {
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) : undefined;
  const ms =
    typeof value === "number" ? value : Number(match?.[1]) * (UNIT_MS[match?.[2] ?? ""] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return Math.round(ms);
  throw new TypeError(
    `${name} must be milliseconds or text such as "250ms", "5s", "10m", "4h" or "7d", not ${describeValue(value)}.`,
  );
}

/** A measured duration as it is stored, shown and written as JSON: milliseconds with one decimal. */
export function roundedMs(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}
