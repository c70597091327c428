import { base64 } from "./wire/envelope.ts";
import { callForeign } from "./foreign.ts";

/** Takes one line of the log. */
export type Log = (line: string) => void;

interface Host {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

/** Shorter keys are those of tests, such as "dev", which also occur inside words of the log. */
const SECRET_LENGTH = 12;

/** What makes a terminal do something else than print: control characters, and those that change the reading direction. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * Makes a function that makes texts from outside fit for a log: it replaces the write key, in every form in which it can
 * occur, and escapes characters that are not printable. A short key must stand by itself, so that no word is cut up.
 *
 * Apply it before cutting a text: the rest of a key that was cut is not recognised.
 */
export function createSanitize(writeKey: string): (text: string) => string {
  // One that begins with another stands before it.
  const any = [
    // As it is sent, and without the colon: what the last characters encode differs.
    base64(`${writeKey}:`),
    base64(writeKey),
    String(new URLSearchParams([["", writeKey]])).slice(1),
    writeKey,
  ]
    // A quotation mark has as many backslashes before it as there is JSON within JSON.
    .map((form) => form.replaceAll(/\W/g, String.raw`\$&`).replaceAll(/\\["\\]/g, String.raw`\\*$&`))
    .join("|");
  const key = new RegExp(writeKey.length < SECRET_LENGTH ? `(?<!\\w)(?:${any})(?!\\w)` : any, "g");
  return (text) => text.replaceAll(key, "[write key]").replaceAll(UNPRINTABLE, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * Where the log goes: to the given function, else with `DEBUG=analytics` in the environment (spec 4.2) to standard error,
 * else nowhere. `undefined` is nowhere, so that no line is made that no one reads.
 */
export function createLog(log: Log | undefined, sanitize: (text: string) => string): Log | undefined {
  const enabled = debugVariable()
    .split(/[\s,]+/)
    .includes("analytics");
  // The spec names this variable for exactly this: it is the operator who asks for the output, not the library.
  // oxlint-disable-next-line no-console
  const write = log ?? (enabled ? (line: string) => console.error(`analytics ${line}`) : undefined);
  return (
    write &&
    ((line) => {
      callForeign(() => write(sanitize(line)));
    })
  );
}

function debugVariable(): string {
  try {
    return (globalThis as Host).process?.env?.["DEBUG"] ?? "";
  } catch {
    // Deno without the permission to read the environment.
    return "";
  }
}
