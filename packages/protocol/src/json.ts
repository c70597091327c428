import { MAX_NESTING } from "./limits.ts";

export { misreadsKeys, parseAsWritten, parseJson } from "./parse-json.ts";
export { limitStacks } from "./limit-stacks.ts";

/** A value that JSON can represent. */
export type JsonValue = string | number | boolean | null | JsonObject | readonly JsonValue[];

/** An object that JSON can represent. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** Whether a value is an object with fields: neither `null` nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a primitive in an object, such as `new Number(3)`, which JSON treats as the primitive. */
export function isBoxed(value: object): boolean {
  return [Number, String, Boolean, BigInt].some((box) => value instanceof box);
}

/**
 * Whether a value is bytes, such as a Buffer. `instanceof` does not do: in jsdom, Node's bytes are not instances of the global
 * `Uint8Array`. No JSON has what this asks for.
 */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && (value as Partial<Uint8Array>)[Symbol.toStringTag] === "Uint8Array";
}

/** Whether a value is a `Date`. `instanceof` does not do: in Jest, Node's dates are not instances of the global `Date`. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === "[object Date]";
}

/**
 * Whether a parsed JSON value nests deeper than a limit. The value itself is the first level. It stops at the limit, so it is
 * safe for any input.
 */
export function nestsDeeperThan(value: unknown, limit: number = MAX_NESTING): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  for (const inner of Object.values(value)) if (nestsDeeperThan(inner, limit - 1)) return true;
  return false;
}

const LONGEST_QUOTE = 40;

/** Names the kind of a value for an error message, and shows nothing of it: `null`, `an array`, `a string`. */
export function nameKind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (isDate(value)) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/**
 * Shows a value in an error message: a number, the start of a text in quotes, or the kind of anything else. For what should be a
 * number or a certain text. In place of anything else, a text may be a secret, or about a person: {@link nameKind}.
 */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return quote(value);
  return typeof value === "number" ? String(value) : nameKind(value);
}

/** A text in quotes for an error message, cut if it is long. Control characters are escaped. */
export function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text);
}
