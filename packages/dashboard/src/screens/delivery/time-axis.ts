/** What is drawn: when it began, and how long it took. */
export interface Span {
  readonly startedAt: number;
  readonly durationMs: number;
}

/** Where a span is drawn, in units of the axis. */
interface Placed {
  readonly from: number;
  readonly width: number;
}

/** Idle time that is drawn shorter than it was. */
interface Fold {
  readonly at: number;
  readonly width: number;
  readonly ms: number;
}

export interface TimeAxis {
  readonly width: number;
  readonly places: readonly Placed[];
  readonly folds: readonly Fold[];
}

/** An attempt that uses up its whole time is this wide. */
const FULL_WIDTH = 46;
const LEAST_WIDTH = 7;
/** Idle time is drawn this wide at most: then it is folded, and the axis says how long it was. */
const LEAST_GAP = 4;
const MOST_GAP = 34;
/** Idle time from here on is folded. */
const FOLD_FROM_MS = 2_000;

/**
 * Lays attempts out on an axis of time that folds what lies idle between them, so that four hours with thirty attempts of
 * milliseconds can be read. Attempts that overlap, to several endpoints, keep their order in time.
 *
 * @param budgetMs How long an attempt may take.
 */
export function layOut(spans: readonly Span[], budgetMs: number): TimeAxis {
  const times = [
    ...new Set(spans.flatMap(({ startedAt, durationMs }) => [startedAt, startedAt + durationMs])),
  ];
  times.sort((a, b) => a - b);
  const busy = spans.toSorted((a, b) => a.startedAt - b.startedAt);
  const positions = new Map<number, number>();
  const folds: Fold[] = [];
  let x = 0;
  let reach = Number.NEGATIVE_INFINITY;
  let next = 0;
  for (const [index, time] of times.entries()) {
    const before = times[index - 1];
    if (before !== undefined) {
      const ms = time - before;
      const idle = reach <= before;
      const width = idle ? gapWidth(ms) : Math.max((ms / budgetMs) * FULL_WIDTH, 0.5);
      if (idle && ms >= FOLD_FROM_MS) folds.push({ at: x, width, ms });
      x += width;
    }
    positions.set(time, x);
    for (let span = busy[next]; span && span.startedAt <= time; span = busy[next]) {
      reach = Math.max(reach, span.startedAt + span.durationMs);
      next += 1;
      // So that the shortest one can still be seen, and the next one does not cover it.
      if (span.durationMs < (LEAST_WIDTH / FULL_WIDTH) * budgetMs)
        x = Math.max(x, (positions.get(time) ?? 0) + LEAST_WIDTH);
    }
  }
  const places = spans.map(({ startedAt, durationMs }) => {
    const from = positions.get(startedAt) ?? 0;
    return { from, width: Math.max((positions.get(startedAt + durationMs) ?? from) - from, LEAST_WIDTH) };
  });
  const width = Math.max(x, ...places.map((place) => place.from + place.width), LEAST_WIDTH);
  return { width, places, folds };
}

/** Wider for longer, but an hour is not much wider than a minute. */
function gapWidth(ms: number): number {
  if (ms <= 0) return 0;
  return Math.min(LEAST_GAP + Math.log10(1 + ms / 100) * 6, MOST_GAP);
}
