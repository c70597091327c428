import type { Outcome } from "./types.ts";

export interface EndpointStats {
  readonly destination: string;
  readonly url: string;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  readonly failures?: number;
  readonly failingSince?: string;
  readonly responseTimes: {
    readonly bounds: readonly number[];
    readonly counts: readonly number[];
    readonly overBudget: number;
    readonly count: number;
    readonly sumMs: number;
    readonly nearMisses?: number;
  };
}
