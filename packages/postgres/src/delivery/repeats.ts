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

/** Positions of the calls that are repeats: of an earlier one of the same acceptance, or of one that was stored before. */
export function repeatsOf(
  { calls }: Acceptance,
  own: ReadonlySet<number>,
  repeated: ReadonlySet<string>,
): readonly number[] {
  return calls.flatMap(({ key }, position) =>
    own.has(position) || (key !== undefined && repeated.has(key)) ? [position] : [],
  );
}
