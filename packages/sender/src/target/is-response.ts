/**
 * Whether an application returned a Response, by what it has. `instanceof` does not do: an application may take the class from
 * undici's package, and Hono's server for Node replaces the global, so that what `fetch()` gives is no instance of it.
 */
export function isResponse(returned: unknown): returned is Response {
  if (typeof returned !== "object" || returned === null) return false;
  const { status, headers, body } = returned as Partial<Response>;
  return typeof status === "number" && typeof headers?.getSetCookie === "function" && body !== undefined;
}
