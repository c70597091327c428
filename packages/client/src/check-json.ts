import { maxCallBytes } from "./limits.ts";
import { ValidationError } from "./validation-error.ts";

/** Deeper than any event, and shallow enough that no engine's JSON.stringify overflows its stack. */
const maxDepth = 1_000;

/**
 * Checks that JSON can carry all of a value, because JSON.stringify would leave functions and symbols out without a word.
 * It stops at a value that cannot fit a call, so its cost is bounded whatever it is given.
 *
 * @param value - What the caller passed.
 * @param field - Its name, the start of the path in the error.
 */
export function checkJson(value: object, field: string): void {
  const path: string[] = [field];
  let nodes = 0;

  const check = (value: unknown): void => {
    nodes += 1;
    // Every value takes at least one byte and its comma.
    if (nodes > maxCallBytes) throw tooLarge(field);
    if (typeof value !== "object" || value === null) return checkScalar(value, path);
    if (typeof (value as { toJSON?: unknown }).toJSON === "function") return;
    if (value instanceof Map || value instanceof Set) {
      throw unfit(path, "is a Map or a Set, which JSON writes as {}. Pass an object or an array.");
    }
    if (path.length > maxDepth) {
      throw new ValidationError(field, `'${field}' is circular, or nested deeper than ${maxDepth} levels.`);
    }
    if (Array.isArray(value)) {
      value.forEach((item, index) => descend(String(index), item));
      return;
    }
    for (const key of Object.keys(value)) {
      const item: unknown = value[key as keyof typeof value];
      if (item !== undefined) descend(key, item);
    }
  };
  const descend = (key: string, value: unknown): void => {
    path.push(key);
    check(value);
    path.pop();
  };
  check(value);
}

/** The error for a call that is over the limit of spec 8. */
export function tooLarge(field: string, bytes?: number): ValidationError {
  const size = bytes === undefined ? "" : ` This one has ${bytes}.`;
  return new ValidationError(
    field,
    `A call may have ${maxCallBytes} bytes as JSON.${size} Send less, or a reference to it.`,
  );
}

function checkScalar(value: unknown, path: readonly string[]): void {
  if (typeof value === "function" || typeof value === "symbol") {
    throw unfit(path, `is a ${typeof value}, which JSON cannot carry. Leave it out.`);
  }
  // An application may teach BigInt to be JSON.
  if (typeof value === "bigint" && !("toJSON" in BigInt.prototype)) {
    throw unfit(path, "is a BigInt, which JSON cannot carry. Pass a number or a string.");
  }
}

function unfit(path: readonly string[], what: string): ValidationError {
  const field = path.join(".");
  return new ValidationError(field, `'${field}' ${what}`);
}
