import { randomInt } from "node:crypto";

/** What is timed: `run` with inputs of two classes. */
export interface LeakOptions {
  /** Each makes a fresh input of its class, outside of what is timed. */
  readonly inputs: readonly [() => Uint8Array, () => Uint8Array];
  readonly run: (input: Uint8Array) => void;
}

/** How far the times of two classes lie apart. */
export interface Leak {
  /** Welch's t, the largest over all crops by absolute value. */
  readonly t: number;
  readonly measurements: number;
}

const MEASUREMENTS = 200_000;
const WARM_UP = 20_000;

/** Shares of the measurements that are kept: times have a long tail that belongs to the machine, not to the code. */
const CROPS = [1, 0.99, 0.95, 0.9, 0.75, 0.5];

/** Times two classes of input in random order, and says by Welch's t-test whether they differ. */
export function measureLeak({ inputs, run }: LeakOptions): Leak {
  for (let index = 0; index < WARM_UP; index += 1) run(inputs[index % 2 === 0 ? 0 : 1]());
  const times: [number[], number[]] = [[], []];
  for (let index = 0; index < MEASUREMENTS; index += 1) {
    const which = randomInt(2) === 0 ? 0 : 1;
    const input = inputs[which]();
    const startedAt = process.hrtime.bigint();
    run(input);
    times[which].push(Number(process.hrtime.bigint() - startedAt));
  }
  const all = [...times[0], ...times[1]].toSorted((a, b) => a - b);
  let t = 0;
  for (const crop of CROPS) {
    const limit = all[Math.ceil(crop * all.length) - 1] ?? Infinity;
    const one = welch(
      times[0].filter((time) => time <= limit),
      times[1].filter((time) => time <= limit),
    );
    if (Math.abs(one) > Math.abs(t)) t = one;
  }
  return { t, measurements: MEASUREMENTS };
}

/** Welch's t of two samples. */
function welch(a: readonly number[], b: readonly number[]): number {
  const [one, other] = [moments(a), moments(b)];
  const error = Math.sqrt(one.variance / a.length + other.variance / b.length);
  return error === 0 ? 0 : (one.mean - other.mean) / error;
}

function moments(values: readonly number[]): { readonly mean: number; readonly variance: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, variance: squares / (values.length - 1) };
}
