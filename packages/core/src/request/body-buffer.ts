/** Collects the bytes of a body. Made by {@link createBodyBuffer}. */
export interface BodyBuffer {
  /** Adds a chunk. False if it would take the body over the limit. */
  append(chunk: Uint8Array): boolean;
  /** The bytes so far. */
  bytes(): Uint8Array;
}

const SMALLEST_GROWTH = 16_384;

/**
 * Collects bytes up to a limit in one buffer. A list of the chunks would let a sender of one-byte chunks occupy a
 * hundred times its body.
 */
export function createBodyBuffer(maxBytes: number): BodyBuffer {
  // Most bodies come in one chunk, which is used as it is: a buffer for each would cost more than its signature.
  let buffer: Uint8Array = new Uint8Array();
  let length = 0;
  return {
    append(chunk) {
      const needed = length + chunk.length;
      if (needed > maxBytes) return false;
      if (length === 0) {
        buffer = chunk;
      } else {
        if (needed > buffer.length) buffer = grown(buffer, length, needed, maxBytes);
        buffer.set(chunk, length);
      }
      length = needed;
      return true;
    },
    bytes: () => (length === buffer.length ? buffer : buffer.subarray(0, length)),
  };
}

function grown(buffer: Uint8Array, length: number, needed: number, maxBytes: number): Uint8Array {
  const size = Math.max(needed, buffer.length * 2, SMALLEST_GROWTH);
  const larger = new Uint8Array(Math.min(size, Math.ceil(maxBytes)));
  larger.set(buffer.subarray(0, length));
  return larger;
}
