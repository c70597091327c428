import { harmonicMean } from "./statistics.ts";

/** Something to measure. */
export interface Contender {
  readonly name: string;
  /** Does the work of one round. Resolves to the measurement: a time, a rate, a size. */
  readonly measure: () => number | Promise<number>;
}

/** How often each contender is measured. */
export interface Rounds {
  readonly rounds: number;
  /** Rounds before those, which do not count. Default: 1. */
  readonly warmups?: number;
  /**
   * How many turns each contender has in a round. Short turns that alternate see the same machine; a round of several still has
   * its share of garbage collections. What a round measured is the harmonic mean of its turns: of rates over the same work, the
   * rate over all of it. Default: 1.
   */
  readonly turns?: number;
}

/** What each contender measured, a value a round, in the order of the rounds. */
export type Measurements = ReadonlyMap<string, readonly number[]>;

/**
 * Measures contenders in turns, so that whatever else the machine does strikes all of them: forwards in one turn and
 * backwards in the next.
 *
 * @throws Error when a contender measures something that is not a positive number
 */
export async function alternate(
  contenders: readonly Contender[],
  { rounds, warmups = 1, turns = 1 }: Rounds,
): Promise<Measurements> {
  const measured = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  if (measured.size !== contenders.length) throw new Error("Two contenders have the same name.");
  for (let round = -warmups; round < rounds; round += 1) {
    const inRound = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
    for (let turn = 0; turn < turns; turn += 1) {
      const forwards = (round * turns + turn) % 2 === 0;
      for (const { name, measure } of forwards ? contenders : contenders.toReversed()) {
        const value = await measure();
        if (!Number.isFinite(value) || value <= 0)
          throw new Error(`${name} measured ${value} in round ${round}.`);
        inRound.get(name)?.push(value);
      }
    }
    if (round < 0) continue;
    for (const [name, values] of inRound) measured.get(name)?.push(harmonicMean(values));
  }
  return measured;
}

/** What one contender measured. */
export function valuesOf(measured: Measurements, name: string): readonly number[] {
  const values = measured.get(name);
  if (values === undefined) throw new Error(`No contender is called ${name}.`);
  return values;
}

/** The ratio of two contenders in each round. */
export function ratiosOf(measured: Measurements, ours: string, theirs: string): number[] {
  const divisors = valuesOf(measured, theirs);
  return valuesOf(measured, ours).map((value, round) => value / (divisors[round] as number));
}
