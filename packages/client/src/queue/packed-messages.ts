// What stands for a string begins with a control character, which no JSON text has. For a word that was written before: NEAR plus
// the high byte of its place and then the low byte, for places that fit, else FAR and both bytes. For a UUID: its 16 bytes.
const FAR = 1;
const UUID = 2;
const NEAR = 3;
const FIRST_FAR = (0x20 - NEAR) * 256;
const LONGEST_REFERENCE = 3;
const UUID_BYTES = 16;
/** Bytes of a UUID as a word: with quotes. */
const UUID_WORD = 38;

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const DASH = 0x2d;

/** The digits of a UUID, as bytes. */
const HEX = new TextEncoder().encode("0123456789abcdef");

/** Where words were written, plus one, by their hash. Shared: nothing else runs while messages are packed. */
const places = new Uint16Array(4_096);
/** The hash of the word that `endOfWord` has found. */
let hash = 0;

/**
 * Packs JSON texts that stand one after another: a word that occurred before becomes a reference to it. A word is a string
 * with the punctuation before it and its colon. Most of a message is names and values that the messages around it have, too.
 *
 * It reads each byte once, and takes less time than writing the JSON did.
 *
 * @param bytes - At most 65,535.
 * @param ends - Where each text ends. They are changed, to say where it ends in what is returned.
 */
export function pack(bytes: Uint8Array, ends: Uint16Array): Uint8Array {
  const packed = new Uint8Array(bytes.length);
  places.fill(0);
  let from = 0;
  let size = 0;
  for (let index = 0; index < ends.length; index += 1) {
    const end = ends[index] as number;
    while (from < end) {
      const wordEnd = endOfWord(bytes, from, end);
      if (wordEnd - from === UUID_WORD && packUuid(bytes, from, packed, size + 1)) {
        packed[size] = UUID;
        size += 1 + UUID_BYTES;
        from = wordEnd;
        continue;
      }
      if (wordEnd - from > LONGEST_REFERENCE) {
        const slot = hash % places.length;
        const place = (places[slot] as number) - 1;
        if (place < 0) places[slot] = size + 1;
        else if (isAt(packed, place, bytes, from, wordEnd)) {
          if (place >= FIRST_FAR) packed[size++] = FAR;
          packed[size++] = (place >> 8) + (place < FIRST_FAR ? NEAR : 0);
          packed[size++] = place;
          from = wordEnd;
          continue;
        }
      }
      while (from < wordEnd) packed[size++] = bytes[from++] as number;
    }
    ends[index] = size;
  }
  return packed.slice(0, size);
}

/** Writes a part of what `pack` returned as it was before, and returns where it ends in `target`. */
export function unpack(
  packed: Uint8Array,
  from: number,
  to: number,
  target: Uint8Array,
  start: number,
): number {
  let at = start;
  for (let next = from; next < to; next += 1) {
    const byte = packed[next] as number;
    if (byte >= 0x20) {
      target[at++] = byte;
      continue;
    }
    if (byte === UUID) {
      at = unpackUuid(packed, next + 1, target, at);
      next += UUID_BYTES;
      continue;
    }
    const high = byte === FAR ? (packed[++next] as number) : byte - NEAR;
    let place = high * 256 + (packed[++next] as number);
    for (let quotes = 0; quotes < 2; place += 1) {
      if (packed[place] === QUOTE) quotes += 1;
      target[at++] = packed[place] as number;
    }
    if (packed[place] === COLON) target[at++] = COLON;
  }
  return at;
}

/** Where the word that starts here ends; the next byte, if none does. One with an escape counts as none. */
function endOfWord(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  // A message ends with a comma: the word after it belongs to the next one.
  while (at < end && isOpening(bytes[at])) at += 1;
  if (at === end || bytes[at] !== QUOTE) return from + 1;
  hash = at - from;
  for (at += 1; bytes[at] !== QUOTE; at += 1) {
    if (at >= end || bytes[at] === BACKSLASH) return from + 1;
    hash = (hash * 31 + (bytes[at] as number)) & 0xff_ffff;
  }
  return bytes[at + 1] === COLON ? at + 2 : at + 1;
}

/** Writes the 16 bytes of a UUID in quotes, if it is one in small letters. */
function packUuid(bytes: Uint8Array, from: number, packed: Uint8Array, size: number): boolean {
  let at = from + 1;
  for (let index = 0; index < UUID_BYTES; index += 1) {
    if (isAfterDash(index) && bytes[at++] !== DASH) return false;
    const high = HEX.indexOf(bytes[at] as number);
    const low = HEX.indexOf(bytes[at + 1] as number);
    if (high < 0 || low < 0) return false;
    packed[size + index] = high * 16 + low;
    at += 2;
  }
  return true;
}

function unpackUuid(packed: Uint8Array, from: number, target: Uint8Array, start: number): number {
  let at = start;
  target[at++] = QUOTE;
  for (let index = 0; index < UUID_BYTES; index += 1) {
    const byte = packed[from + index] as number;
    if (isAfterDash(index)) target[at++] = DASH;
    target[at++] = HEX[byte >> 4] as number;
    target[at++] = HEX[byte & 15] as number;
  }
  target[at++] = QUOTE;
  return at;
}

function isAfterDash(index: number): boolean {
  return index === 4 || index === 6 || index === 8 || index === 10;
}

/** A comma, a bracket or a brace. */
function isOpening(byte: number | undefined): boolean {
  return byte === 0x2c || byte === 0x5b || byte === 0x7b;
}

/** Whether the word at a place is this one. */
function isAt(packed: Uint8Array, place: number, bytes: Uint8Array, from: number, end: number): boolean {
  for (let index = from; index < end; index += 1) {
    if (packed[place + index - from] !== bytes[index]) return false;
  }
  // It must not go on where this one ends.
  return bytes[end - 1] === COLON || packed[place + end - from] !== COLON;
}
