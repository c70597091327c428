/** Collects the bytes of a body. Made by {@link createBodyBuffer}. */
export interface BodyBuffer {
  /** Takes a chunk in; false where the body would pass the limit with it. */
  append(chunk: Uint8Array): boolean;
  /** The bytes so far. */
  bytes(): Uint8Array;
}

const FIRST_SIZE = 16_384;

/**
 * Collects bytes up to a limit in one buffer. A list of the chunks would let a sender of one-byte chunks occupy a
 * hundred times its body.
 */
export function createBodyBuffer(maxBytes: number): BodyBuffer {
  const limit = Math.ceil(maxBytes);
  let buffer = new Uint8Array(Math.min(FIRST_SIZE, limit));
  let length = 0;
  return {
    append(chunk) {
      const needed = length + chunk.length;
      if (needed > maxBytes) return false;
      if (needed > buffer.length) {
        const grown = new Uint8Array(Math.min(Math.max(needed, buffer.length * 2), limit));
        grown.set(buffer.subarray(0, length));
        buffer = grown;
      }
      buffer.set(chunk, length);
      length = needed;
      return true;
    },
    bytes: () => buffer.subarray(0, length),
  };
}
