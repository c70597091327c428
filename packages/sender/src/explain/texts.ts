/** The end of an id, short enough for a line and long enough to find its other attempts by eye. */
export function shortId(id: string): string {
  return id.slice(-4);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A duration for a person: `4 ms`, `1.2 s`, `9 s`, `12 min`, `3 h 5 min`. */
export function durationText(ms: number): string {
  const whole = Math.max(Math.round(ms), 0);
  if (whole < SECOND) return `${whole} ms`;
  if (ms < 5 * SECOND) return `${trimmed(ms / SECOND)} s`;
  if (ms < 99.5 * SECOND) return `${Math.round(ms / SECOND)} s`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 100) return `${minutes} min`;
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest === 0 ? "" : ` ${rest} min`}`;
}

function trimmed(seconds: number): string {
  return seconds.toFixed(1).replace(/\.0$/, "");
}

/** After this share of the time that a receiver has, an answer is nearly too late. */
const SLOW_SHARE = 0.8;

/** Whether an answer was nearly too late: later than 4 s of 5. The statistics count the same as a near miss. */
export function isSlow(durationMs: number, budgetMs: number): boolean {
  return durationMs > budgetMs * SLOW_SHARE;
}

/** How much of the time that a receiver has an answer took: `4.2 s of 5`. */
export function budgetText(durationMs: number, budgetMs: number): string {
  return `${(durationMs / SECOND).toFixed(1)} s of ${trimmed(budgetMs / SECOND)}`;
}

/** A number with its ordinal ending: `3rd`. */
export function ordinal(number: number): string {
  const teens = number % 100 > 10 && number % 100 < 14;
  const ending = teens ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}
