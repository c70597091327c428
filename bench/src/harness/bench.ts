import type { Row } from "./row.ts";
import type { Chart } from "./line-chart.ts";

/** What a bench is told. */
export interface BenchContext {
  /** How many rounds to measure: what the command line says, else what the bench asks for. */
  readonly rounds: (usual: number) => number;
  /** Says on standard error what is being measured. */
  readonly progress: (what: string) => void;
}

/** What a bench found. */
export interface BenchResult {
  readonly rows: readonly Row[];
  readonly charts?: readonly Chart[];
}

/** One subject, with everything it is compared with. */
export interface Bench {
  /** Its name on the command line. */
  readonly name: string;
  /** What it measures, in a sentence. */
  readonly about: string;
  /**
   * When it runs without being named: `"rows"` always, `"curve"` with `--write`, `"soak"` never. Default: `"rows"`.
   */
  readonly kind?: "rows" | "curve" | "soak";
  readonly run: (context: BenchContext) => Promise<BenchResult>;
}
