import { useEffect, useState } from "preact/hooks";
import { begins, onEvent } from "../data/app-state.ts";
import type { LiveEvent } from "../shapes/types.ts";

let ids = 0;

/** An id for an element. The page is drawn in the browser alone, so a number will do. */
export function useId(): string {
  return useState(() => `id-${(ids += 1)}`)[0];
}

/** Draws the component again each second, for what counts down. */
export function useTick(on: boolean): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => setTick((tick) => tick + 1), 1_000);
    return () => clearInterval(timer);
  }, [on]);
}

/**
 * Reads what a component shows, and reads it again after events that concern it, and whenever the stream begins. What cannot be
 * read stays as it was: the header says that the server is away, and the stream begins when it is back.
 *
 * @param read Reads and shows; nothing is to be shown any more once its signal is aborted.
 * @param afterMs How long it waits after an event, for others to come.
 * @param inputs What `read` depends on.
 */
export function useLive(
  read: (gone: AbortSignal) => Promise<unknown>,
  concerns: (event: LiveEvent) => boolean,
  afterMs: number,
  inputs: readonly unknown[] = [],
): void {
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: Promise<unknown> = Promise.resolve();
    // One after the other: an answer that comes late would replace a newer one.
    const run = (): void =>
      void (last = last
        .then(() => {
          timer = undefined;
          return read(abort.signal);
        })
        .catch(() => {}));
    const stop = onEvent((event) => {
      if (begins(event) || concerns(event)) timer ??= setTimeout(run, afterMs);
    });
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      stop();
    };
  }, inputs);
}
