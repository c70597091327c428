import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers";

/** How long one request may work before others get a turn. A judgement of a single message adds some milliseconds at most. */
const TURN_MS = 10;

/**
 * Returns a function to await between the steps of long work. It yields to the event loop when the work has held it for
 * 10 ms, so that a batch of thousands of messages keeps nobody else waiting.
 */
export function takeTurns(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < TURN_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        began = performance.now();
        resolve();
      });
    });
  };
}
