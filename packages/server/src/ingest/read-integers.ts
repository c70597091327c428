import { isObject, OBJECT_FIELDS, parseJson, TEXT_FIELDS } from "@countersign/protocol";
import { beginningOf } from "./beginning-of.ts";
import { takeTurns } from "./take-turns.ts";

/**
 * Paths of numbers that JavaScript does not keep, by the place of their message in the batch. What stands in the request
 * itself, or in what a batch says for all of its messages, is under `undefined`. At most ten paths each.
 */
export type UnsafeIntegers = ReadonlyMap<number | undefined, readonly string[]>;

/** The JSON value of a body, its integers read as far as JavaScript can. */
export interface ReadIntegers {
  readonly value: unknown;
  readonly unsafeIntegers: UnsafeIntegers;
}

/** Finds numbers with 16 digits or more, since all integers with fewer digits are exact, and those with an exponent of three. */
const MAY_BE_UNSAFE = /[[,:\s]-?\d{16}|\d[eE]\+?\d{3}/;
/** The length of `1e309`, which JavaScript reads as infinite, and writes as null. */
const MIN_LENGTH = 5;
const LONG_INTEGER = /^-?\d{16,}$/;
const NUMBER_PART: ReadonlySet<number> = new Set(
  Array.from("0123456789+-.eE", (character) => character.charCodeAt(0)),
);

/** Fields whose digits identify something or someone: the exact ones are kept, as a string. */
const IDENTIFYING: ReadonlySet<string> = new Set(TEXT_FIELDS);
/** Fields whose content is forwarded, and must therefore be numbers that a receiver in JavaScript reads as the same. */
const FORWARDED: ReadonlySet<string> = new Set(OBJECT_FIELDS);

/** What such a number is, for a message about it. */
export const UNSAFE =
  "a number that JavaScript does not keep: an integer above 2^53, or one above 1.8e308. Send it as a string.";

const MAX_PATHS = 10;
const MAX_PATH_LENGTH = 200;

/**
 * Reads integers above 2^53 from the source text. `JSON.parse` makes 9007199254740992 of 9007199254740993, so that two users
 * would become one. It makes Infinity of 1e400, which JSON has not: it would be forwarded as null. Identifiers keep their exact digits, as strings. Anything else stays the number that JavaScript reads,
 * because the signature of other digits could not be verified by receivers that parse the body first; its path is reported.
 *
 * What nests deeper than a message may is read, too: it is rejected, and then shown as it came.
 *
 * @param text JSON that was parsed without an error.
 * @param value What `JSON.parse` made of it.
 */
export async function readIntegers(text: string, value: unknown): Promise<ReadIntegers> {
  if (!MAY_BE_UNSAFE.test(text) || !isObject(value)) return { value, unsafeIntegers: new Map() };
  const turn = takeTurns();
  // No text of a client can begin with it by accident or on purpose.
  const mark = `${crypto.randomUUID()}:`;
  const marked = markUnsafe(text, mark);
  if (marked === text) return { value, unsafeIntegers: new Map() };
  await turn();
  const unmarking = new Unmarking(parseJson(marked) as Content, mark);
  do await turn();
  while (unmarking.step());
  return { value: unmarking.value, unsafeIntegers: unmarking.unsafeIntegers };
}

/** A number that JavaScript does not keep, as it is written, and the keys that lead to it. */
export interface UnsafeNumber {
  readonly digits: string;
  readonly keys: readonly string[];
}

/** The first number of a text of JSON that JavaScript does not keep. */
export function unsafeNumberOf(text: string): UnsafeNumber | undefined {
  const found = MAY_BE_UNSAFE.test(text) ? findUnsafe(text, 0) : undefined;
  if (found === undefined) return undefined;
  const mark = crypto.randomUUID();
  const marked = `${text.slice(0, found.start)}"${mark}"${text.slice(found.end)}`;
  return { digits: text.slice(found.start, found.end), keys: keysTo(mark, parseJson(marked)) };
}

/** The keys that lead to a text within a value, found without recursion. */
function keysTo(text: string, value: unknown): readonly string[] {
  const places: { readonly inner: unknown; readonly path: Path | undefined }[] = [
    { inner: value, path: undefined },
  ];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { inner, path: within } = place;
    if (inner === text) return keysOf(within);
    if (typeof inner !== "object" || inner === null) continue;
    for (const [key, next] of Object.entries(inner)) places.push({ inner: next, path: { key, within } });
  }
  return [];
}

function keysOf(path: Path | undefined): readonly string[] {
  const keys: string[] = [];
  for (let at = path; at !== undefined; at = at.within) keys.push(at.key);
  return keys.toReversed();
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/** The text with each number that JavaScript does not keep as a string that begins with the mark. */
function markUnsafe(text: string, mark: string): string {
  const parts: string[] = [];
  let copied = 0;
  for (let found = findUnsafe(text, 0); found; found = findUnsafe(text, copied)) {
    parts.push(text.slice(copied, found.start), `"${mark}${text.slice(found.start, found.end)}"`);
    copied = found.end;
  }
  return copied === 0 ? text : parts.join("") + text.slice(copied);
}

/** The next number that JavaScript does not keep, in JSON, from a place that is in no string and no number. */
function findUnsafe(
  text: string,
  from: number,
): { readonly start: number; readonly end: number } | undefined {
  // A character at a time: a regular expression takes ten times as long for a body of many small values.
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    if (code !== MINUS && !isDigit(code)) continue;
    const end = endOfNumber(text, at);
    if (end - at >= MIN_LENGTH && isUnsafe(text.slice(at, end))) return { start: at, end };
    at = end - 1;
  }
  return undefined;
}

/** Whether JavaScript does not keep a number: the digits of an integer, or anything of one that it reads as infinite. */
function isUnsafe(token: string): boolean {
  const value = Number(token);
  return !Number.isFinite(value) || (LONG_INTEGER.test(token) && String(value) !== token);
}

/** The place of the quote that ends a string. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return at;
}

/** The place after a number. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && NUMBER_PART.has(text.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

type Content = Record<string, unknown>;

/** An object or array, and how it was reached. */
interface Place {
  readonly content: Content;
  /** The message's place in the batch; `undefined` in what is not part of one. */
  readonly index: number | undefined;
  /** Keys from the message to here, the last first. */
  readonly path: Path | undefined;
  /** The field of the message that this is part of. */
  readonly field: string | undefined;
}

interface Path {
  readonly key: string;
  readonly within: Path | undefined;
}

/** Objects and arrays that one step looks into. */
const PLACES_AT_ONCE = 1_000;

/** Replaces the marks of numbers in a value, a step at a time and without recursion. */
class Unmarking {
  readonly value: Content;
  readonly unsafeIntegers = new Map<number | undefined, string[]>();
  readonly #mark: string;
  readonly #places: Place[];

  constructor(value: Content, mark: string) {
    this.value = value;
    this.#mark = mark;
    this.#places = [{ content: value, index: undefined, path: undefined, field: undefined }];
  }

  /** Returns whether there is more to do. */
  step(): boolean {
    for (let left = PLACES_AT_ONCE; left > 0; left -= 1) {
      const place = this.#places.pop();
      if (place === undefined) return false;
      this.#visit(place);
    }
    return true;
  }

  #visit(place: Place): void {
    const { content } = place;
    for (const key of Object.keys(content)) {
      const inner = content[key];
      if (content === this.value && key === "batch" && Array.isArray(inner)) this.#addMessages(inner);
      else this.#read(place, key, inner);
    }
  }

  /** Replaces a marked number; an object or array is visited later. */
  #read(place: Place, key: string, inner: unknown): void {
    if (typeof inner === "string") {
      if (inner.startsWith(this.#mark)) this.#replace(place, key, inner.slice(this.#mark.length));
    } else if (typeof inner === "object" && inner !== null) {
      const { index, path: within, field = key } = place;
      this.#places.push({ content: inner as Content, index, path: { key, within }, field });
    }
  }

  #addMessages(batch: unknown[]): void {
    for (const [index, message] of batch.entries()) {
      if (isObject(message))
        this.#places.push({ content: message, index, path: undefined, field: undefined });
    }
    // What is not an object is rejected, and shown as it came.
    const others = {
      content: batch as unknown as Content,
      index: undefined,
      path: undefined,
      field: "batch",
    };
    for (const [key, inner] of Object.entries(batch)) if (!isObject(inner)) this.#read(others, key, inner);
  }

  #replace(place: Place, key: string, digits: string): void {
    const isId = place.field === undefined && IDENTIFYING.has(key);
    if (!isId && FORWARDED.has(place.field ?? key)) this.#report(place, key);
    const value = isId ? digits : Number(digits);
    if (key !== "__proto__") place.content[key] = value;
    // An assignment would change what the object inherits.
    else
      Object.defineProperty(place.content, key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
  }

  #report({ index, path: within }: Place, key: string): void {
    const paths = this.unsafeIntegers.get(index) ?? [];
    if (paths.length >= MAX_PATHS) return;
    paths.push(beginningOf(keysOf({ key, within }).join("."), MAX_PATH_LENGTH));
    this.unsafeIntegers.set(index, paths);
  }
}
