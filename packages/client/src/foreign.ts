/**
 * Calls a function of the application that returns nothing to the client, such as a hook or its log. What goes wrong in it
 * is handed on, or ignored: there is nobody to catch it, nor to handle the rejection of an async function, and either would end
 * the process.
 */
export function callForeign(foreign: () => unknown, failed: (error: unknown) => void = () => {}): void {
  try {
    // `instanceof` does not do: in a program that replaces `Promise`, as zone.js does, async functions return others.
    (foreign() as Partial<PromiseLike<unknown>> | null | undefined)?.then?.(undefined, failed);
  } catch (error) {
    failed(error);
  }
}
