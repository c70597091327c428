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
}

/** What each contender measured, a value a round, in the order of the rounds. */
export type Measurements = ReadonlyMap<string, readonly number[]>;

/**
 * Measures contenders in turns, so that whatever else the machine does strikes all of them: in every round each one
 * once, forwards in one round and backwards in the next.
 *
 * @throws Error when a contender measures something that is not a positive number
 */
export async function alternate(
  contenders: readonly Contender[],
  { rounds, warmups = 1 }: Rounds,
): Promise<Measurements> {
  const measured = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  if (measured.size !== contenders.length) throw new Error("Two contenders have the same name.");
  for (let round = -warmups; round < rounds; round += 1) {
    for (const { name, measure } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const value = await measure();
      if (!Number.isFinite(value) || value <= 0)
        throw new Error(`${name} measured ${value} in round ${round}.`);
      if (round >= 0) measured.get(name)?.push(value);
    }
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
