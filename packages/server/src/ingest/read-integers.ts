import { isObject } from "@countersign/protocol";

/**
 * Paths of integers whose digits JavaScript does not keep, by the place of their message in the batch. What stands in the request
 * itself, or in what a batch says for all of its messages, is under `undefined`. At most ten paths each.
 */
export type UnsafeIntegers = ReadonlyMap<number | undefined, readonly string[]>;

/** The JSON value of a body, its integers read as far as JavaScript can. */
export interface ReadIntegers {
  readonly value: unknown;
  readonly unsafeIntegers: UnsafeIntegers;
}

/** A number with 16 digits or more may stand here. All integers with fewer are exact. */
const LONG_NUMBER = /[[,:\s]-?\d{16}/;
/** Strings are found only to be passed over. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const INTEGER = /^-?\d{16,}$/;

/** Fields whose digits identify something or someone: the exact ones are kept, as a string. */
const TEXT_FIELDS: ReadonlySet<string> = new Set([
  "userId",
  "anonymousId",
  "event",
  "name",
  "category",
  "groupId",
  "previousId",
  "messageId",
]);
/** Fields whose content is forwarded, and must therefore be numbers that a receiver in JavaScript reads as the same. */
const OBJECT_FIELDS: ReadonlySet<string> = new Set(["properties", "traits", "context", "integrations"]);

const MAX_PATHS = 10;
const MAX_PATH_LENGTH = 200;

/**
 * Reads integers above 2^53 from the source text. `JSON.parse` makes 9007199254740992 of 9007199254740993, so that two users
 * would become one. Identifiers keep their exact digits, as strings. Anything else stays the number that JavaScript reads,
 * because the signature of other digits could not be verified by receivers that parse the body first; its path is reported.
 *
 * @param text JSON that was parsed without an error.
 * @param value What `JSON.parse` made of it.
 */
export function readIntegers(text: string, value: unknown): ReadIntegers {
  if (!LONG_NUMBER.test(text) || !isObject(value)) return { value, unsafeIntegers: new Map() };
  // No text of a client can begin with it by accident or on purpose.
  const mark = `${crypto.randomUUID()}:`;
  let found = 0;
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    if (!INTEGER.test(token) || String(Number(token)) === token) return token;
    found += 1;
    return `"${mark}${token}"`;
  });
  if (found === 0) return { value, unsafeIntegers: new Map() };
  return unmark(JSON.parse(marked), mark);
}

/** An object or array, and how it was reached. */
interface Place {
  readonly content: Record<string, unknown>;
  readonly key?: string;
  readonly within?: Place;
}

/** Without recursion, because nothing has looked at how deep the value nests. */
function unmark(value: Record<string, unknown>, mark: string): ReadIntegers {
  const unsafeIntegers = new Map<number | undefined, string[]>();
  const places: Place[] = [{ content: value }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    for (const [key, inner] of Object.entries(place.content)) {
      if (typeof inner === "string" && inner.startsWith(mark)) {
        const digits = inner.slice(mark.length);
        replace(place.content, key, exactOrReported(digits, pathTo(place, key), unsafeIntegers));
      } else if (typeof inner === "object" && inner !== null) {
        places.push({ content: inner as Record<string, unknown>, key, within: place });
      }
    }
  }
  return { value, unsafeIntegers };
}

/** An assignment to `__proto__` would change what the object inherits. */
function replace(content: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(content, key, { value, writable: true, enumerable: true, configurable: true });
}

function exactOrReported(
  digits: string,
  [first = "", ...rest]: readonly string[],
  unsafeIntegers: Map<number | undefined, string[]>,
): string | number {
  const inBatch = first === "batch" && rest.length > 1;
  const index = inBatch ? Number(rest[0]) : undefined;
  const path = inBatch ? rest.slice(1) : [first, ...rest];
  const [field = ""] = path;
  if (path.length === 1 && TEXT_FIELDS.has(field)) return digits;
  if (OBJECT_FIELDS.has(field)) {
    const paths = unsafeIntegers.get(index) ?? [];
    if (paths.length < MAX_PATHS) paths.push(path.join(".").slice(0, MAX_PATH_LENGTH));
    unsafeIntegers.set(index, paths);
  }
  return Number(digits);
}

function pathTo(place: Place, key: string): readonly string[] {
  const path = [key];
  for (let at: Place = place; at.key !== undefined && at.within !== undefined; at = at.within)
    path.push(at.key);
  return path.toReversed();
}
