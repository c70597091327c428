import { HIDDEN } from "../settings/hidden-headers.ts";

/** Hiding shorter texts would hide the rest of what is shown. */
const SHORTEST = 4;

/**
 * A copy of a value in which none of these texts occurs, wherever a string stands.
 *
 * @param texts Credentials: whole, and the parts of those with a scheme, such as `Bearer`.
 */
export function withoutTexts<T>(value: T, texts: readonly string[]): T {
  const hidden = texts
    .flatMap((text) => [text, ...text.split(" ")])
    .filter((text) => text.length >= SHORTEST)
    .toSorted((a, b) => b.length - a.length);
  return replaced(value, hidden) as T;
}

function replaced(value: unknown, hidden: readonly string[]): unknown {
  if (typeof value === "string")
    return hidden.reduce((text, secret) => text.replaceAll(secret, HIDDEN), value);
  if (Array.isArray(value)) return value.map((item) => replaced(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaced(item, hidden)]));
}
