const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The levels that a call may have. To write more takes time that grows with their square. */
export const MAX_LEVELS = 500;

/** Whether arrays and objects in JSON are nested deeper than so many levels. */
export function isDeeperThan(bytes: Uint8Array, most: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] as number;
    if (byte === QUOTE) isInString = !isInString;
    else if (byte === BACKSLASH) index += 1;
    else if (!isInString) {
      // A bracket and its brace differ in this bit.
      const bracket = byte | 0x20;
      if (bracket === OPEN_OBJECT) depth += 1;
      else if (bracket === CLOSE_OBJECT) depth -= 1;
      if (depth > most) return true;
    }
  }
  return false;
}
