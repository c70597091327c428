import type { Clock } from "./clock.ts";
import { TaskQueue } from "./task-queue.ts";

/** Options of {@link systemClock}. */
export interface SystemClockOptions {
  /** Whether a scheduled task keeps the process running until it is due. Default: `true`. */
  readonly keepAlive?: boolean | undefined;
}

/** A wait is at most this long, so that a clock that was set, or a machine that slept, is noticed. */
const LONGEST_WAIT_MS = 60_000;

interface Host {
  readonly Deno?: { unrefTimer?(timer: unknown): void };
}

const release = (): void => {};

/**
 * The machine's time.
 *
 * @example
 * ```ts
 * const clock = systemClock();
 * const task = clock.schedule(clock.now() + 5_000, () => flush());
 * ```
 */
export function systemClock({ keepAlive = true }: SystemClockOptions = {}): Clock {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const queue = new TaskQueue(arm);

  function arm(): void {
    clearTimeout(timer);
    timer = undefined;
    if (queue.nextAt === undefined) return;
    const wait = Math.min(Math.max(queue.nextAt - Date.now(), 0), LONGEST_WAIT_MS);
    timer = setTimeout(wake, wait);
    if (!keepAlive) unref(timer);
  }

  function wake(): void {
    try {
      queue.runDue(Date.now());
    } finally {
      arm();
    }
  }

  return { now: () => Date.now(), schedule: (at, task) => queue.add(at, task), hold: () => release };
}

/** Node and Bun return an object from setTimeout; browsers, workerd and older Deno a number. */
function unref(timer: unknown): void {
  if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
  else (globalThis as Host).Deno?.unrefTimer?.(timer);
}
