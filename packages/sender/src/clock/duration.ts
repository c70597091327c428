/** A length of time: milliseconds as a number, or a number with its unit, such as `"250ms"`, `"5s"`, `"4h"`, `"7d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Whole milliseconds of a {@link Duration}.
 *
 * @throws TypeError when the value is negative, not finite, or text of another form; `name` says whose value it was.
 */
export function parseDuration(value: Duration, name: string): number {
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) : undefined;
  const ms =
    typeof value === "number" ? value : Number(match?.[1]) * (unitMs[match?.[2] ?? ""] ?? Number.NaN);
  if (!Number.isFinite(ms) || ms < 0) {
    throw new TypeError(
      `${name} must be milliseconds or text such as "250ms", "5s", "10m", "4h" or "7d", not ${JSON.stringify(value)}.`,
    );
  }
  return Math.round(ms);
}
