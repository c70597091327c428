import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { get, messageOf, remove } from "../data/api.ts";
import type { Signal } from "../signals/signals.ts";
import { Failure } from "./failure.tsx";
import { useLive } from "./hooks.ts";

/** What a person does on a part of the page. */
export interface Action {
  /** Does it. While it runs, another is ignored: a disabled button would lose the focus. */
  readonly run: (action: () => Promise<unknown>) => void;
  /** Says that it takes a while, and then why it has failed. */
  readonly failure: JSX.Element;
}

/** What is done sooner says nothing meanwhile. */
const SLOW_MS = 400;

/** Runs the actions of a component one at a time. */
export function useAction(): Action {
  const [error, setError] = useState("");
  const [isSlow, setSlow] = useState(false);
  const running = useRef(false);
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    if (running.current) return;
    running.current = true;
    setError("");
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    await action().catch((error: unknown) => setError(messageOf(error)));
    clearTimeout(timer);
    setSlow(false);
    running.current = false;
  };
  const failure = isSlow ? <span role="status">Working…</span> : <Failure text={error} />;
  return { run: (action) => void run(action), failure };
}

/** What runs on the server for a while. */
interface Job {
  readonly id: string;
  readonly startedAt: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
}

const AGAIN_MS = 200;

/** Shows a job, unless its end was told before: answers come in any order. */
export function showJob<T extends Job>(shown: Signal<T | undefined>, job: T | undefined): void {
  const { value } = shown;
  if (value?.state === "running" || !isSame(value, job)) shown.value = job;
}

/** A server that was started again begins anew with its ids. */
function isSame(one: Job | undefined, other: Job | undefined): boolean {
  return one?.id === other?.id && one?.startedAt === other?.startedAt;
}

/**
 * Shows the newest job of the server, whoever has started it, and stops it. It is read whenever one has gone on, or when that was
 * missed; a restart ends it.
 */
export function useJob<T extends Job>(
  shown: Signal<T | undefined>,
  path: string,
): Action & { readonly stop: () => void } {
  const action = useAction();
  useLive(
    async () => {
      const { value } = shown;
      const [newest] = await get<readonly T[]>(path, { limit: 1 });
      // What was started meanwhile is newer.
      if (shown.value !== value && !isSame(shown.value, newest)) return;
      showJob(shown, newest ?? (value?.state === "running" ? { ...value, state: "cancelled" } : value));
    },
    ["audit", "certified", "resend"],
    AGAIN_MS,
  );
  const stop = (): void =>
    action.run(async () => showJob(shown, await remove<T>(`${path}/${shown.value?.id}`)));
  return { ...action, stop };
}
