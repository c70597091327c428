/**
 * Calls a function of the application that returns nothing to the client, such as a hook or its log. What goes wrong in it
 * is handed on: there is nobody to catch it, nor to handle the rejection of an async function, and either would end the
 * process.
 */
export function callForeign(foreign: () => unknown, failed: (error: unknown) => void): void {
  try {
    const returned = foreign();
    if (returned instanceof Promise) returned.catch(failed);
  } catch (error) {
    failed(error);
  }
}
