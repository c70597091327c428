/** What a rejection counts for. */
export interface Counted {
  readonly source: string | null;
  /** How many bytes its texts have. */
  readonly bytes: number;
}

/**
 * Chooses the rejections that stay: the newest of each source first, then the second of each, as far as there is room. Who sends the most
 * loses the oldest.
 *
 * @param newestFirst All that there are.
 */
export function mostOfEachSource<T extends Counted>(
  newestFirst: readonly T[],
  maxRows: number,
  maxBytes: number,
): readonly T[] {
  const counts = new Map<string | null, number>();
  const places = newestFirst.map((row) => {
    const nth = (counts.get(row.source) ?? 0) + 1;
    counts.set(row.source, nth);
    return { row, nth };
  });
  let bytes = 0;
  return places
    .toSorted((one, other) => one.nth - other.nth)
    .slice(0, maxRows)
    .map(({ row }) => row)
    .filter((row) => (bytes += row.bytes) <= maxBytes);
}
