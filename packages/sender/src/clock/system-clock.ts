import type { Clock } from "./clock.ts";
import { TaskQueue } from "./task-queue.ts";

/** A wait is at most this long, so that a machine that slept or had its time set is noticed. */
const longestWaitMs = 60_000;

const nothing = (): void => {};

/**
 * The machine's time.
 *
 * @example
 * ```ts
 * const sender = await createSender({ url, clock: systemClock() }); // the default
 * ```
 */
export function systemClock(): Clock {
  let timer: NodeJS.Timeout | undefined;
  const queue = new TaskQueue(arm);

  function arm(): void {
    clearTimeout(timer);
    timer = undefined;
    if (queue.nextAt === undefined) return;
    const wait = Math.min(Math.max(queue.nextAt - Date.now(), 0), longestWaitMs);
    timer = setTimeout(wake, wait);
  }

  function wake(): void {
    try {
      queue.runDue(Date.now());
    } finally {
      arm();
    }
  }

  return {
    now: () => Date.now(),
    schedule: (at, task) => queue.add(at, task),
    hold: () => nothing,
  };
}
