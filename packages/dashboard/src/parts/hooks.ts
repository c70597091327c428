import { useEffect, useState } from "preact/hooks";
import { begins, onEvent } from "../data/app-state.ts";
import { inTurn } from "../signals/with-pauses.ts";

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
 * Reads what a component shows, and reads it again after events that are about it, and whenever the stream begins. What cannot be
 * read stays as it was: the header says that the server is away, and the stream begins when it is back.
 *
 * @param read Nothing is to be shown any more once its signal is aborted.
 * @param about Names of events, and ids of deliveries.
 * @param afterMs How long it waits after an event, for others to come.
 * @param inputs What `read` depends on.
 * @returns What was read last.
 */
export function useLive<T>(
  read: (gone: AbortSignal) => Promise<T>,
  about: readonly (string | undefined)[],
  afterMs: number,
  inputs: readonly unknown[] = [],
): T | undefined {
  const [found, setFound] = useState<T>();
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const readSoon = inTurn(async () => {
      if (signal.aborted) return;
      const answer = await read(signal);
      if (!signal.aborted) setFound(() => answer);
    }, afterMs);
    const stop = onEvent((event) => {
      if (
        begins(event) ||
        about.includes(event.event) ||
        ("delivery" in event && about.includes(event.delivery.id))
      )
        readSoon();
    });
    readSoon(0);
    return () => {
      abort.abort();
      stop();
    };
  }, inputs);
  return found;
}
