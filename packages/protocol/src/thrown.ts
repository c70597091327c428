/** An error as it is read, with what Node and libraries add. */
export type ErrorRead = Error & { readonly code?: unknown; readonly errors?: unknown };

/**
 * Whether something that was thrown is an error. `instanceof` does not do: in Jest, and in every other vm context, the errors
 * of Node are not instances of the context's own `Error`. An object with a message alone, such as an answer that was parsed, is
 * none.
 */
export function isError(thrown: unknown): thrown is ErrorRead {
  const error = thrown as Error | null | undefined;
  return typeof error?.message === "string" && "name" in error;
}

/** What was thrown, as an error: itself if it is one, else an error with its text. */
export function errorOf(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(String(thrown));
}

/** The code of an error, such as `ENOENT`; undefined if it has none. */
export function codeOf(thrown: unknown): string | undefined {
  return isError(thrown) && typeof thrown.code === "string" ? thrown.code : undefined;
}

/** The message of an error, whatever was thrown; its code if it has no message. */
export function messageOf(thrown: unknown): string {
  return (isError(thrown) && thrown.message) || codeOf(thrown) || String(thrown);
}
