import type { Acceptance } from "@countersign/sender/store";

/** The keys by which repeats of these calls are known. */
export function keysOf(
  { calls, uniqueForMs }: Acceptance,
  ownRepeats: ReadonlySet<number>,
): readonly string[] {
  if (uniqueForMs === undefined) return [];
  return calls.flatMap(({ key }, position) => (key === undefined || ownRepeats.has(position) ? [] : [key]));
}

const NONE: ReadonlySet<number> = new Set();

/** Calls that repeat an earlier one of the same acceptance. */
export function ownRepeatsOf({ calls, uniqueForMs }: Acceptance): ReadonlySet<number> {
  if (uniqueForMs === undefined) return NONE;
  const repeats = new Set<number>();
  const keys = new Set<string>();
  calls.forEach(({ key }, position) => {
    if (key === undefined) return;
    if (keys.has(key)) repeats.add(position);
    keys.add(key);
  });
  return repeats;
}

/** Whether the call of a position is a repeat: of an earlier one of the same acceptance, or of one that was stored before. */
export function isRepeat(
  { calls }: Acceptance,
  own: ReadonlySet<number>,
  repeated: ReadonlySet<string>,
  position: number,
): boolean {
  const key = calls[position]?.key;
  return own.has(position) || (key !== undefined && repeated.has(key));
}

/** Positions of the calls that are repeats. */
export function repeatsOf(
  acceptance: Acceptance,
  own: ReadonlySet<number>,
  repeated: ReadonlySet<string>,
): readonly number[] {
  return acceptance.calls.flatMap((_, position) =>
    isRepeat(acceptance, own, repeated, position) ? [position] : [],
  );
}
