import { createHash } from "node:crypto";

/** A stream of random numbers that a seed repeats. Not for secrets. */
export interface RandomSource {
  /** The next number, at least 0 and less than 1. */
  readonly fraction: () => number;
  /** The next 32 bits, as an unsigned integer. */
  readonly uint32: () => number;
  /**
   * A stream of its own for `label`, the same whatever was drawn from this one. What happens concurrently must not
   * share a stream, or the order in which endpoints answer would change the run.
   */
  fork(label: string): RandomSource;
}

/** A {@link RandomSource} of a seed: sfc32 over a SHA-256 of it. */
export function seededRandom(seed: string): RandomSource {
  const digest = createHash("sha256").update(seed).digest();
  let a = digest.readInt32LE(0);
  let b = digest.readInt32LE(4);
  let c = digest.readInt32LE(8);
  let counter = digest.readInt32LE(12);
  const uint32 = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  return {
    uint32,
    fraction: () => uint32() / 2 ** 32,
    fork: (label) => seededRandom(`${seed}\u0000${label}`),
  };
}
