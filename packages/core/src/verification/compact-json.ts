import { isDeeperThan, MAX_LEVELS } from "./json-depth.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Outside of strings and numbers: brackets, braces, commas, colons, and the letters of true, false and null. */
const OUTSIDE = /[[\]{},:a-z]/;

/** What follows a backslash where `JSON.stringify` writes one. It writes some control characters otherwise: not listed. */
const ESCAPES = /["\\bfnrt]/;

/** How deeply objects may be nested, and how many keys a text may have. */
const MAX_DEPTH = 64;
const MAX_KEYS = 2_048;

// Twice as many places as keys, a power of two.
const places = new Int32Array(MAX_KEYS * 2);
const openObjects = new Int32Array(MAX_DEPTH);

const isOutside = bytesMatching(OUTSIDE);
const isEscape = bytesMatching(ESCAPES);

function bytesMatching(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (pattern.test(String.fromCharCode(byte)) ? 1 : 0));
}

/** Whether a body that does not match need not be compared in its second form: it is its own, or it is no message. */
export function hasOneForm(bytes: Uint8Array): boolean {
  return isCompactJson(bytes) || isDeeperThan(bytes, MAX_LEVELS);
}

/**
 * Whether bytes, if they are JSON in UTF-8, are certainly what `JSON.stringify(JSON.parse(text))` gives. False says nothing:
 * there may be spaces, escapes or numbers in another form, a key twice, a key that is an index, or too much of something.
 *
 * It takes a fraction of the time of parsing and writing, so that a forgery costs less than an authentic message.
 */
export function isCompactJson(bytes: Uint8Array): boolean {
  places.fill(0);
  let depth = -1;
  let [objects, keys, index] = [0, 0, 0];
  while (index < bytes.length) {
    const byte = bytes[index] as number;
    if (byte === QUOTE) {
      const end = endOfString(bytes, index);
      if (end === -1) return false;
      if (bytes[end] === COLON) {
        keys += 1;
        if (depth === -1 || keys > MAX_KEYS || isDigit(bytes[index + 1])) return false;
        if (!isNewKey(hashOf(bytes, index, end, openObjects[depth] as number))) return false;
      }
      index = end;
    } else if (byte === MINUS || isDigit(byte)) {
      index = endOfNumber(bytes, index);
      if (index === -1) return false;
    } else {
      if (isOutside[byte] === 0) return false;
      if (byte === OPEN_OBJECT) {
        depth += 1;
        if (depth === MAX_DEPTH) return false;
        objects += 1;
        openObjects[depth] = objects;
      } else if (byte === CLOSE_OBJECT) {
        if (depth === -1) return false;
        depth -= 1;
      }
      index += 1;
    }
  }
  return true;
}

/** The index after the closing quote, or -1 where an escape may be written otherwise or the quote is missing. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let index = start + 1; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) return index + 1;
    if (byte !== BACKSLASH) continue;
    index += 1;
    if (isEscape[bytes[index] ?? 0] === 0) return -1;
  }
  return -1;
}

/**
 * The index after a number, or -1 where it may be written otherwise. A number of at most 15 digits is written with the same
 * ones, and one of at most six decimals without an exponent.
 */
function endOfNumber(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  const point = endOfDigits(bytes, first);
  const digits = point - first;
  const isZero = bytes[first] === ZERO;
  if (digits === 0 || digits > 15 || (isZero && digits > 1)) return -1;
  let end = point;
  if (bytes[point] === POINT) {
    end = endOfDigits(bytes, point + 1);
    const decimals = end - point - 1;
    if (decimals === 0 || decimals > 6 || digits > 9 || bytes[end - 1] === ZERO) return -1;
  } else if (isZero && first !== start) {
    return -1;
  }
  const next = bytes[end];
  return next === COMMA || next === 0x5d || next === CLOSE_OBJECT || next === undefined ? end : -1;
}

function endOfDigits(bytes: Uint8Array, start: number): number {
  let index = start;
  while (isDigit(bytes[index])) index += 1;
  return index;
}

/** A key and its object as one number. Two keys with the same number only leave a text to the parser. */
function hashOf(bytes: Uint8Array, start: number, end: number, object: number): number {
  let hash = Math.imul(object, 0x9e3779b1);
  for (let index = start + 1; index < end; index += 1) {
    hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  }
  hash ^= hash >>> 15;
  return hash === 0 ? 1 : hash;
}

function isNewKey(hash: number): boolean {
  const mask = places.length - 1;
  let place = hash & mask;
  for (; places[place] !== 0; place = (place + 1) & mask) if (places[place] === hash) return false;
  places[place] = hash;
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}
