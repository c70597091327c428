/**
 * Refuses options by a name that does not exist: a misspelt `strict` would never show otherwise, and the compiler sees
 * no misspelling in JavaScript.
 *
 * @throws TypeError naming the option, and those there are.
 */
export function checkOptionNames(what: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    const kind = options === null ? "null" : typeof options;
    throw new TypeError(
      `${what}: the options must be an object such as { ${names[0]} }, but are of type ${kind}.`,
    );
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  // A framework calls its middleware with a request, or with a context that has a request's headers.
  if ("headers" in options) {
    throw new TypeError(
      `${what}: the options are a request. Call the function, and mount what it returns: verifyWebhook({ secret }).`,
    );
  }
  throw new TypeError(`${what}: there is no option "${unknown}". The options are ${names.join(", ")}.`);
}
