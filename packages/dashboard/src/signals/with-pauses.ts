/**
 * Makes a function that runs `action`: at once, or as soon as it may run again.
 *
 * @param action Returns how long it must not run again, in milliseconds.
 */
export function withPauses(action: () => number): () => void {
  let mayRunAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const pauseMs = action();
    mayRunAt = performance.now() + pauseMs;
  };
  return () => {
    const wait = mayRunAt - performance.now();
    if (wait > 0) timer ??= setTimeout(run, wait);
    else run();
  };
}
