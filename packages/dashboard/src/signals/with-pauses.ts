/** Waits so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Makes a function that runs `action`: at once, or as soon as it may run again. Several calls meanwhile are one.
 *
 * @param action Returns how long it must not run again, in milliseconds.
 * @param afterMs How long a run waits for other calls. Default: it does not.
 */
export function withPauses(action: () => number | Promise<number>, afterMs = 0): (waitMs?: number) => void {
  let [isAsked, isBusy] = [false, false];
  const run = async (waitMs: number): Promise<void> => {
    isBusy = true;
    try {
      for (; isAsked; waitMs = afterMs) {
        if (waitMs > 0) await pause(waitMs);
        isAsked = false;
        await pause(await action());
      }
    } finally {
      // Also when it fails: the next call runs it again.
      isBusy = false;
    }
  };
  return (waitMs = afterMs) => {
    isAsked = true;
    if (!isBusy) void run(waitMs);
  };
}

/** So many times as long as it took to read something, it is not read again: what is large leaves the server most of its time. */
const REST = 4;
const MOST_REST_MS = 10_000;

/**
 * Makes a function that has something read soon. One reading follows the other: an answer that comes late would replace a newer one.
 * What cannot be read stays as it was.
 *
 * @param afterMs How long a reading waits for others to be asked for, which it is then, too.
 */
export function inTurn(read: () => Promise<unknown>, afterMs: number): (waitMs?: number) => void {
  return withPauses(async () => {
    const from = performance.now();
    await read().catch(() => {});
    return Math.min((performance.now() - from) * REST, MOST_REST_MS);
  }, afterMs);
}
