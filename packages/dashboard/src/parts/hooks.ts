import { useEffect, useRef, useState } from "preact/hooks";
import { get, messageOf, type ApiError } from "../data/api.ts";
import { onEvent } from "../data/app-state.ts";
import type { LiveEvent } from "../shapes/types.ts";
import type { Signal } from "../signals/signals.ts";

let ids = 0;

/** An id for an element. The page is drawn in the browser alone, so a number will do. */
export function useId(): string {
  return useState(() => `id-${(ids += 1)}`)[0];
}

/** Draws the component again at an interval, for what counts down. */
export function useTick(everyMs: number, on: boolean): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => setTick((tick) => tick + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, on]);
}

/**
 * Reads what a component shows, and reads it again after events that concern it. What cannot be read stays as it was: the header
 * says that the server is away.
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
      if (concerns(event)) timer ??= setTimeout(run, afterMs);
    });
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      stop();
    };
  }, inputs);
}

/** What runs on the server for a while. */
interface Job {
  readonly id: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
}

/** Reads again what runs where its events were missed: while another screen was shown, or over a restart, which ends it. */
export function useRunning<T extends Job>(shown: Signal<T | undefined>, path: string): void {
  useLive(
    async () => {
      const { value } = shown;
      if (value?.state !== "running") return;
      shown.value = await get<T>(`${path}/${value.id}`).catch((error: ApiError) => {
        if (error.status !== 404) throw error;
        return { ...value, state: "cancelled" };
      });
    },
    ({ event }) => event === "reset",
    0,
  );
}

/** What an action of the person does. */
export interface Action {
  /** What went wrong with the last one; empty where nothing has. */
  readonly error: string;
  /** Runs one; whether it succeeded. While one runs, another is ignored: a disabled button would lose the focus. */
  readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
}

/** Runs the actions of a component one at a time. */
export function useAction(): Action {
  const [error, setError] = useState("");
  const running = useRef(false);
  const run = async (action: () => Promise<unknown>): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    setError("");
    try {
      await action();
      return true;
    } catch (error) {
      setError(messageOf(error));
      return false;
    } finally {
      running.current = false;
    }
  };
  return { error, run };
}
