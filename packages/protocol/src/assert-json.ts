import { ValidationError } from "./validation-error.ts";
import { MAX_CALL_BYTES, MAX_NESTING } from "./limits.ts";

/**
 * Checks that JSON can represent all of a value: JSON.stringify would silently leave out functions and symbols. It stops at a
 * value that cannot fit a call, so its cost is bounded whatever it is given, circular values included.
 *
 * @param value - The value of a field of a call, so its first level is the second of the call.
 * @param field - The field's name, for the error.
 * @returns Whether something in it writes itself with `toJSON()`, so that its final form is known only after serialising.
 * @throws ValidationError `not_json`, `nested_too_deeply` or `message_too_large`, with the path of the value at fault.
 */
export function assertJson(value: object, field: string): boolean {
  return mostJsonBytes(value, field) === UNKNOWN;
}

/** How large the JSON is of what writes itself. */
const UNKNOWN = Number.POSITIVE_INFINITY;

/** What a value takes that is neither a text nor a list nor an object, such as a number or a date, with its comma. */
const MOST_SCALAR_BYTES = 32;

/** What a text takes: all of it escaped, in quotes, with a colon or a comma. */
export function mostTextBytes({ length }: string): number {
  return length * 6 + 3;
}

/**
 * Checks like {@link assertJson}, and tells how many bytes the JSON has at most: `Infinity` if something in it writes itself.
 * This costs less than writing it.
 */
export function mostJsonBytes(value: object, field: string): number {
  const path: string[] = [field];
  let nodes = 0;
  let bytes = 0;

  const check = (value: unknown): void => {
    nodes += 1;
    // Every value takes at least one byte and its comma.
    if (nodes > MAX_CALL_BYTES) throw tooLarge(field);
    bytes += typeof value === "string" ? mostTextBytes(value) : MOST_SCALAR_BYTES;
    if (typeof value === "bigint") bytes = UNKNOWN;
    if (typeof value !== "object" || value === null) return checkScalar(value, path);
    if (value instanceof Date) return;
    if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
      bytes = UNKNOWN;
      return;
    }
    if (value instanceof Map || value instanceof Set) {
      throw unfit(path, "a Map or a Set", "Pass an object or an array.");
    }
    if (path.length >= MAX_NESTING) throw tooDeep(field);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) descend(String(index), value[index]);
      return;
    }
    for (const key of Object.keys(value)) {
      const item: unknown = value[key as keyof typeof value];
      if (item === undefined) continue;
      bytes += mostTextBytes(key);
      descend(key, item);
    }
  };
  const descend = (key: string, value: unknown): void => {
    path.push(key);
    check(value);
    path.pop();
  };
  check(value);
  return bytes;
}

/** The error for a call over the size limit (spec 8). */
export function tooLarge(field: string | undefined, bytes?: number): ValidationError {
  const size = bytes === undefined ? "" : ` This one has ${bytes}.`;
  return new ValidationError(
    "message_too_large",
    field,
    `A call may have ${MAX_CALL_BYTES} bytes as JSON.${size} Send less.`,
  );
}

/** The error for a call that nests too deeply. */
export function tooDeep(field?: string): ValidationError {
  const what = field === undefined ? "The call" : `'${field}'`;
  return new ValidationError(
    "nested_too_deeply",
    field,
    `${what} is circular, or nests deeper than ${MAX_NESTING} levels.`,
  );
}

function checkScalar(value: unknown, path: readonly string[]): void {
  if (typeof value === "function" || typeof value === "symbol") {
    throw unfit(path, `a ${typeof value}`, "Leave it out.");
  }
  // An application may teach BigInt to be JSON.
  if (typeof value === "bigint" && !("toJSON" in BigInt.prototype)) {
    throw unfit(path, "a BigInt", "Pass a number or a string.");
  }
}

function unfit(path: readonly string[], what: string, advice: string): ValidationError {
  const field = path.join(".");
  return new ValidationError(
    "not_json",
    field,
    `'${field}' is ${what}, which JSON cannot represent. ${advice}`,
  );
}
