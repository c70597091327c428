/** Ids of one millisecond are told apart by this many bits, half of which are left to count on from a random start. */
const COUNTER_BITS = 26;

/**
 * Returns a maker of version 7 UUIDs (RFC 9562) that takes the time, in milliseconds since 1970. Its ids increase with the
 * time, and within a millisecond too, so that their order is the order in which they were made, and an index of them grows at
 * its end.
 *
 * @param uint32 - Returns 32 random bits as an unsigned integer.
 * @example
 * ```ts
 * const newId = timeOrderedIds(() => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
 * newId(Date.now()) < newId(Date.now()); // true
 * ```
 */
export function timeOrderedIds(uint32: () => number): (now: number) => string {
  let last = Number.NaN;
  let head = "";
  let counter = 0;
  return (now) => {
    const time = Math.floor(now);
    if (time === last) {
      counter += 1;
    } else {
      last = time;
      const digits = hex(time, 12);
      head = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
      counter = uint32() >>> (33 - COUNTER_BITS);
    }
    const low = hex(uint32(), 8) + hex(uint32(), 8).slice(4);
    return `${head}${hex(counter >>> 14, 3)}-${hex(0x8000 | (counter & 0x3fff), 4)}-${low}`;
  };
}

function hex(value: number, digits: number): string {
  // Quicker than padStart: the digit above the ones wanted keeps the zeros.
  return (value + 16 ** digits).toString(16).slice(1);
}
