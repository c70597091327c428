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

/** What Node says of a quota that is used up, on Linux and on macOS: it knows the number alone. */
const NAMELESS_QUOTA = /(Unknown system error -(?:122|69)): \1/;

/** The message of an error of a file, to be read by a person. It names a quota that is used up, as Node names a full disk. */
export function fileMessageOf(thrown: unknown): string {
  return messageOf(thrown).replace(NAMELESS_QUOTA, "EDQUOT: disk quota exceeded");
}

/** What Node 24 adds to what it says of a certificate: an option of its own, where we say what to pass to ours. */
const ADVICE_OF_NODE = /; [^;]*--use-system-ca$/;

/**
 * The message of an error of a connection, to be read by a person. That of OpenSSL is a line of its error queue: the reason is
 * the readable part of it. Where several addresses were tried and none was reached, the error of the whole has no text: those of each
 * say it.
 */
export function connectionMessageOf(thrown: unknown): string {
  if (isError(thrown) && Array.isArray(thrown.errors) && thrown.errors.length > 0)
    return [...new Set(thrown.errors.map(connectionMessageOf))].join("; ");
  const message = messageOf(thrown).replace(ADVICE_OF_NODE, "");
  if (codeOf(thrown)?.startsWith("ERR_SSL_") !== true) return message;
  const { reason } = thrown as { readonly reason?: unknown };
  return `the TLS handshake failed: ${typeof reason === "string" ? reason : message}`;
}
