import type { RandomSource } from "./random-source.ts";

/**
 * A version 7 UUID (RFC 9562): its order is the order of `now`, so an index of ids grows at its end alone and stays
 * fast however many there are.
 */
export function timeOrderedId(now: number, random: RandomSource): string {
  const time = hex(Math.floor(now), 12);
  const high = random.uint32();
  const low = hex(random.uint32(), 8) + hex(random.uint32(), 8).slice(4);
  const randA = hex(high >>> 20, 3);
  const variantAndRandB = hex(0x8000 | (high & 0x3fff), 4);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randA}-${variantAndRandB}-${low}`;
}

function hex(value: number, digits: number): string {
  // Quicker than padStart: the digit above the ones wanted keeps the zeros.
  return (value + 16 ** digits).toString(16).slice(1);
}
