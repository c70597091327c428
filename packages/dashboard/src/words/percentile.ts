/**
 * The bound that a part of all values does not exceed, of a histogram; infinite when it lies beyond the last bound.
 *
 * @param over How many values are beyond the last bound.
 * @param part Such as 0.95.
 */
export function percentile(
  bounds: readonly number[],
  counts: readonly number[],
  over: number,
  part: number,
): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, over);
  if (all === 0) return undefined;
  let seen = 0;
  for (const [index, count] of counts.entries()) {
    seen += count;
    if (seen >= part * all) return bounds[index];
  }
  return Number.POSITIVE_INFINITY;
}
