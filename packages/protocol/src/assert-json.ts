import { ValidationError } from "./validation-error.ts";
import { isDate } from "./json.ts";
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

/** How large the JSON is of what writes itself, or is not looked at. */
const UNKNOWN = Infinity;

/** What a value takes that is neither a text nor a list nor an object, such as a number or a date, with its comma. */
const MOST_SCALAR_BYTES = 32;

/** What a text takes: all of it escaped, in quotes, with a colon or a comma. */
export function mostTextBytes({ length }: string): number {
  return length * 6 + 3;
}

/** What is known of a value while it is checked. */
interface Checked {
  readonly field: string;
  /** The names that lead to what is looked at, as many as it is deep; what follows is left from another one. */
  readonly path: (string | number)[];
  nodes: number;
  bytes: number;
}

/**
 * Checks like {@link assertJson}, and tells how many bytes the JSON has at most: `Infinity` if something in it writes itself.
 * This costs less than writing it.
 */
export function mostJsonBytes(value: object, field: string): number {
  const checked: Checked = { field, path: [field], nodes: 0, bytes: 0 };
  check(checked, value, 1);
  return checked.bytes;
}

// Not closures over these: they were a tenth of what a call left to the garbage collector.
function check(checked: Checked, value: unknown, depth: number): void {
  const { path } = checked;
  checked.nodes += 1;
  // Every value takes at least one byte and its comma.
  if (checked.nodes > MAX_CALL_BYTES) throw tooLarge(checked.field);
  if (typeof value === "string") {
    checked.bytes += mostTextBytes(value);
    return;
  }
  checked.bytes += MOST_SCALAR_BYTES;
  if (typeof value === "bigint") {
    // An application may teach BigInt to be JSON.
    if (!("toJSON" in BigInt.prototype)) throw unfit(path, depth, "a BigInt", "Pass a number or a string.");
    checked.bytes = UNKNOWN;
    return;
  }
  if (typeof value === "function" || typeof value === "symbol") {
    throw unfit(path, depth, `a ${typeof value}`, "Leave it out.");
  }
  if (typeof value !== "object" || value === null) return;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    if (!isDate(value)) checked.bytes = UNKNOWN;
    return;
  }
  if (value instanceof Map || value instanceof Set) {
    throw unfit(path, depth, "a Map or a Set", "Pass an object or an array.");
  }
  if (depth >= MAX_NESTING) throw tooDeep(checked.field);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      path[depth] = index;
      check(checked, value[index], depth + 1);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const item: unknown = value[key as keyof typeof value];
    if (item === undefined) continue;
    checked.bytes += mostTextBytes(key);
    path[depth] = key;
    check(checked, item, depth + 1);
  }
}

/**
 * How many bytes a parsed JSON value has at most as JSON, with a comma: less work than writing it. It stops where that is more than
 * a call may have, and is `Infinity` where the value nests deeper than a call may.
 *
 * @param value - What `JSON.parse` returned, or a part of that.
 * @param levels - How many levels of objects and arrays there may be.
 */
export function mostParsedBytes(value: unknown, levels: number = MAX_NESTING): number {
  if (typeof value === "string") return mostTextBytes(value);
  if (typeof value !== "object" || value === null) return MOST_SCALAR_BYTES;
  if (levels === 0) return UNKNOWN;
  let bytes = MOST_SCALAR_BYTES;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && bytes <= MAX_CALL_BYTES; index += 1) {
      bytes += mostParsedBytes(value[index], levels - 1);
    }
    return bytes;
  }
  for (const key in value) {
    bytes += mostTextBytes(key) + mostParsedBytes(value[key as keyof typeof value], levels - 1);
    if (bytes > MAX_CALL_BYTES) break;
  }
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
function tooDeep(field: string): ValidationError {
  const text = `'${field}' is circular, or the call nests deeper than ${MAX_NESTING} levels.`;
  return new ValidationError("nested_too_deeply", field, text);
}

function unfit(
  path: readonly (string | number)[],
  depth: number,
  what: string,
  advice: string,
): ValidationError {
  const field = path.slice(0, depth).join(".");
  return new ValidationError(
    "not_json",
    field,
    `'${field}' is ${what}, which JSON cannot represent. ${advice}`,
  );
}
