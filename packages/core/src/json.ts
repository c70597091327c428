import { fromUtf8 } from "./bytes.ts";

/** A value that JSON can hold. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** An object that JSON can hold. Keys such as `__proto__` are own properties like any other. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/**
 * A body written again as `JSON.stringify(JSON.parse(body))`, the second form a signature may match.
 *
 * @returns The text, or undefined where the body is not UTF-8, not JSON, or nested too deep to be written.
 */
export function reserialize(body: Uint8Array): string | undefined {
  const text = fromUtf8(body);
  if (text === undefined) return undefined;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    // A SyntaxError, or the RangeError of a writer that ran out of stack on a hostile depth.
    return undefined;
  }
}

/** Whether a value is what JSON calls an object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
