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
      const high = Math.floor(time / 0x10000);
      head = `${hex16(high >>> 16)}${hex16(high)}-${hex16(time)}-`;
      counter = uint32() >>> (33 - COUNTER_BITS);
    }
    const [first, second] = [uint32(), uint32()];
    return `${head}${hex16(0x7000 | (counter >>> 14))}-${hex16(0x8000 | (counter & 0x3fff))}-${hex16(first >>> 16)}${hex16(first)}${hex16(second)}`;
  };
}

/** Two hex digits of each byte: `toString(16)` takes longer than everything else that an id is made of. Bundles without ids leave the table out. */
const HEX: readonly string[] = /* @__PURE__ */ Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

/** The lowest 16 bits of a number, as four hex digits. */
function hex16(value: number): string {
  return `${HEX[(value >>> 8) & 0xff]}${HEX[value & 0xff]}`;
}
