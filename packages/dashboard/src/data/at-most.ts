/**
 * Makes a function that runs `action`: at once, or as soon as it may run again.
 *
 * @param everyMs The least time between two runs, in milliseconds.
 */
export function atMostEvery(everyMs: number, action: () => void): () => void {
  let ranAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = (): void => {
    clearTimeout(timer);
    timer = undefined;
    ranAt = performance.now();
    action();
  };
  return () => {
    const wait = ranAt + everyMs - performance.now();
    if (wait > 0) timer ??= setTimeout(run, wait);
    else run();
  };
}
