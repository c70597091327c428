/** The middle of several measurements, with the smallest and the largest. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The middle value; of an even number of values, the mean of the two in the middle.
 *
 * @throws RangeError when there is no value
 */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("There is no median of no values.");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/**
 * The smallest value that `share` of all values do not exceed, by the nearest rank: `quantile(values, 0.99)` is the p99.
 *
 * @throws RangeError when there is no value
 */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError("There is no quantile of no values.");
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.ceil(share * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1] as number;
}

/** The mean of rates over the same work: the rate over all of it. */
export function harmonicMean(values: readonly number[]): number {
  if (values.length === 1) return values[0] as number;
  return values.length / values.reduce((sum, value) => sum + 1 / value, 0);
}

/** Median, smallest and largest. */
export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}
