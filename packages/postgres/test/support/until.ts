import { EventEmitter, once } from "node:events";

/** A condition is looked at again after this time also when nothing was heard: other processes do not tell everything. */
const LOOK_AGAIN_MS = 100;

const happenings = new EventEmitter().setMaxListeners(0);

/** Something was heard from a process or an endpoint: whoever waits looks at its condition again. */
export function happened(): void {
  happenings.emit("happened");
}

/** Resolves when something is heard, or soon. */
export async function nextHappening(): Promise<void> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), LOOK_AGAIN_MS);
  await once(happenings, "happened", { signal: waiting.signal }).catch(() => {});
  clearTimeout(timer);
}

/**
 * Resolves when a condition holds.
 *
 * @param what What the condition is, for the error when it does not hold in time.
 * @param ms So long it may take: generous, since it only ends a test that would wait for ever.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 50_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`This did not happen within ${ms} ms: ${what}`);
    await nextHappening();
  }
}
