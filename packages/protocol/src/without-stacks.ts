/**
 * Errors get no stack until the function that this returns is called: to find out where one was made takes most of the time that it
 * costs. For those that strangers cause as often as they like.
 */
export function withoutStacks(): () => void {
  const { stackTraceLimit } = Error;
  // An assignment would throw where Error is frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  return () => void Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
}
