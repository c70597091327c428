/** What is divided among how many. */
export interface Division {
  /** Deliveries a second of all sources. */
  readonly rate: number;
  /** Deliveries a second that one database takes. */
  readonly ofOne: number;
  readonly sources: number;
  readonly databases: number;
}

/** Sources are as unequal as this: the share of the nth is proportional to 1 / (n + OFFSET) to the power. */
const [POWER, OFFSET] = [0.8, 50];

/**
 * How full the busiest database is: sources, the largest first, each go to the database that has least. So an operator who
 * places the large ones by hand would do it; a hash does worse.
 */
export function ratioAgainst({ rate, ofOne, sources, databases }: Division): number {
  const weights = Array.from({ length: sources }, (_, index) => (index + 1 + OFFSET) ** -POWER);
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const loads = new Float64Array(databases);
  for (const weight of weights) {
    let least = 0;
    for (let index = 1; index < databases; index += 1) {
      if ((loads[index] ?? 0) < (loads[least] ?? 0)) least = index;
    }
    loads[least] = (loads[least] ?? 0) + (weight / whole) * rate;
  }
  return Math.max(...loads) / ofOne;
}
