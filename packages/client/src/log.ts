/** Takes one line of the log. */
export type Log = (line: string) => void;

interface Host {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

/** Keys that are shorter are those of tests, such as "dev", which words of the log contain, too. */
const SECRET_LENGTH = 12;

/**
 * Replaces every occurrence of the write key, plain or as it is sent, in a text. A short one must stand by itself, so
 * that no word is cut up for it.
 */
export function createRedact(writeKey: string, authorization: string): (text: string) => string {
  const key = writeKey.replaceAll(/\W/g, String.raw`\$&`);
  const plain = writeKey.length < SECRET_LENGTH ? new RegExp(`(?<!\\w)${key}(?!\\w)`, "g") : writeKey;
  const sent = authorization.slice("Basic ".length);
  return (text) => text.replaceAll(sent, "[write key]").replaceAll(plain, "[write key]");
}

/**
 * Where the log goes: to the given function, else with `DEBUG=analytics` in the environment (spec 4.2) to standard error,
 * else nowhere. `undefined` is nowhere, so that no line is made that no one reads.
 */
export function createLog(log: Log | undefined, redact: (text: string) => string): Log | undefined {
  const enabled = debugVariable()
    .split(/[\s,]+/)
    .includes("analytics");
  // The spec names this variable for exactly this: it is the operator who asks for the output, not the library.
  // oxlint-disable-next-line no-console
  const write = log ?? (enabled ? (line: string) => console.error(`analytics ${line}`) : undefined);
  return write && ((line) => write(redact(line)));
}

function debugVariable(): string {
  try {
    return (globalThis as Host).process?.env?.["DEBUG"] ?? "";
  } catch {
    // Deno without the permission to read the environment.
    return "";
  }
}
