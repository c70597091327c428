/**
 * Makes a version 7 UUID (RFC 9562). Such ids sort by time, so an index of them grows at its end and stays fast however
 * many there are.
 *
 * @param now - The time, in milliseconds since 1970.
 * @param uint32 - Returns 32 random bits as an unsigned integer. It is called three times.
 */
export function timeOrderedId(now: number, uint32: () => number): string {
  const time = hex(Math.floor(now), 12);
  const high = uint32();
  const low = hex(uint32(), 8) + hex(uint32(), 8).slice(4);
  const randA = hex(high >>> 20, 3);
  const variantAndRandB = hex(0x8000 | (high & 0x3fff), 4);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randA}-${variantAndRandB}-${low}`;
}

function hex(value: number, digits: number): string {
  // Quicker than padStart: the digit above the ones wanted keeps the zeros.
  return (value + 16 ** digits).toString(16).slice(1);
}
