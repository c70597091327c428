import { ratiosOf, valuesOf, type Measurements } from "./contest.ts";
import { median, spreadOf, type Spread } from "./statistics.ts";

/** What is good enough: a bound on the ratio, or on our own figure where there is nobody to compare with. */
export interface Target {
  readonly of: "ratio" | "ours";
  readonly is: "at most" | "at least";
  readonly value: number;
}

/** One line of the table. */
export interface Row {
  /** What is measured. */
  readonly what: string;
  /** The peer or the limit. */
  readonly against: string;
  /** The unit of `ours` and `theirs`. */
  readonly unit: string;
  readonly ours?: number;
  readonly theirs?: number;
  /** Ours to theirs: the median of the rounds' ratios, with its spread. */
  readonly ratio?: Spread;
  readonly target?: Target;
  /** Why it was not measured here. */
  readonly skipped?: string;
}

/** What became of a row: a row that was skipped or has no target is neither met nor missed. */
export type RowVerdict = "met" | "MISSED" | "skipped" | "-";

/** Judges a row by the median. */
export function verdictOf({ ours, ratio, target, skipped }: Row): RowVerdict {
  if (skipped !== undefined) return "skipped";
  if (target === undefined) return "-";
  const value = target.of === "ratio" ? ratio?.median : ours;
  if (value === undefined) return "MISSED";
  const isMet = target.is === "at most" ? value <= target.value : value >= target.value;
  return isMet ? "met" : "MISSED";
}

/** The ratio may be this at most: for times and sizes. */
export function atMost(value: number): Target {
  return { of: "ratio", is: "at most", value };
}

/** The ratio must be this at least: for rates. */
export function atLeast(value: number): Target {
  return { of: "ratio", is: "at least", value };
}

/** What a comparison is about. */
export interface Comparison {
  readonly what: string;
  readonly against: string;
  readonly unit: string;
  /** Names of the contenders. */
  readonly ours: string;
  readonly theirs: string;
  readonly target?: Target;
}

/** The row of two contenders of a contest. */
export function compare(measured: Measurements, comparison: Comparison): Row {
  const { ours, theirs, ...rest } = comparison;
  return {
    ...rest,
    ours: median(valuesOf(measured, ours)),
    theirs: median(valuesOf(measured, theirs)),
    ratio: spreadOf(ratiosOf(measured, ours, theirs)),
  };
}
