import { onTestFinished } from "vitest";

const TICK_MS = 100;

/**
 * Counts the time in which this process runs, in milliseconds, until the test has finished: however long other work of the machine holds
 * the process up, that is one tick. A timer that should end later than another one may fire in the same turn after such a pause.
 */
export function countTicks(): () => number {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), TICK_MS);
  onTestFinished(() => clearInterval(timer));
  return () => ticks * TICK_MS;
}
