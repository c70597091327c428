import { watchStolenCores } from "./stolen-time.ts";

/**
 * A round in which the host took more than this of the machine's cores is measured again. Half of a hundredth: the slowest 1 % of
 * a round's calls are those of a hundredth of its time, and a core that is taken for as long makes all of them late.
 */
const MOST_STOLEN_CORES = 0.005;

/** How often, at most, for each round that is wanted. */
const TRIES = 4;

/**
 * Measures rounds for a bound in milliseconds, which means nothing while the host of a virtual machine takes its cores.
 * Measures until there are enough rounds that were left alone, or four times as many as are wanted.
 *
 * @param wanted - How many rounds are wanted.
 * @param watch - Begins to watch what the host takes.
 * @returns the rounds in which the host took least; in a system that does not tell, the first ones
 */
export async function undisturbed<T>(
  wanted: number,
  round: () => Promise<T>,
  watch: typeof watchStolenCores = watchStolenCores,
): Promise<readonly T[]> {
  const made: { readonly stolen: number; readonly measured: T }[] = [];
  let quiet = 0;
  while (quiet < wanted && made.length < wanted * TRIES) {
    const taken = watch();
    const measured = await round();
    const stolen = taken() ?? 0;
    made.push({ measured, stolen });
    if (stolen <= MOST_STOLEN_CORES) quiet += 1;
  }
  return made
    .toSorted((a, b) => a.stolen - b.stolen)
    .slice(0, wanted)
    .map(({ measured }) => measured);
}
