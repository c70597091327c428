/** Bytes of bodies that a process examines at once, and how many more in each second. */
const BURST_BYTES = 262_144;
const BYTES_PER_SECOND = 65_536;

/** A small body costs as much as one of this size: most of it is trying the signature with other secrets. */
const LEAST_BYTES = 1_024;

let left = BURST_BYTES;
let filledAt = 0;

/**
 * Whether a mismatch may be explained; its body is counted then. To explain one costs up to 20 times as much as to verify
 * an authentic message of that size, and anyone can send forgeries.
 */
export function mayExplain(bodyBytes: number): boolean {
  const now = performance.now();
  // The clock of a test may be set back.
  const seconds = Math.max(0, now - filledAt) / 1_000;
  left = Math.min(BURST_BYTES, left + seconds * BYTES_PER_SECOND);
  filledAt = now;
  const cost = Math.max(bodyBytes, LEAST_BYTES);
  if (cost > left) return false;
  left -= cost;
  return true;
}
