/** Milliseconds that passed; none if the clock was set back meanwhile. */
export function elapsed(since: number, now: number): number {
  return Math.max(0, now - since);
}
