/**
 * Sets how many calls a new error's stack shows, and returns how many it showed before. With 0, an error costs half: for those that
 * strangers cause as often as they like.
 */
export function limitStacks(calls: number): number {
  const before = Error.stackTraceLimit;
  // An assignment would throw where Error is frozen.
  Reflect.set(Error, "stackTraceLimit", calls);
  return before;
}
