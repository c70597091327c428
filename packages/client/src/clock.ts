/**
 * Where the time comes from. Inject one to run a day of retries in a test: `virtualClock()` of
 * `@countersign/client/testing` is one.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once, after so many milliseconds. A timer of it never holds the process open. */
  setTimeout(callback: () => void, milliseconds: number): unknown;
  /** Takes back what {@link Clock.setTimeout} returned. */
  clearTimeout(timer: unknown): void;
}

interface Host {
  readonly Deno?: { unrefTimer?(timer: unknown): void };
}

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(callback, milliseconds) {
    const timer: unknown = setTimeout(callback, milliseconds);
    // Node and Bun return an object; browsers, workerd and older Deno a number.
    if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
    else (globalThis as Host).Deno?.unrefTimer?.(timer);
    return timer;
  },
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/**
 * Keeps the process alive while someone awaits something that only {@link Clock} timers would continue.
 *
 * @returns Ends it.
 */
export function keepAlive(): () => void {
  // The longest interval there is; it never fires in practice and does nothing if it does.
  const timer = setInterval(() => {}, 2_147_483_647);
  return () => clearInterval(timer);
}
