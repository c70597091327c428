import type { Outcome, State } from "./types.ts";

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

export interface Stats {
  readonly destinations: readonly ({
    readonly destination: string;
    readonly enabled: boolean;
    readonly configured: boolean;
    readonly oldestPendingAt?: string;
    readonly nextDueAt?: string;
  } & Readonly<Record<State, number>>)[];
  readonly endpoints: readonly EndpointStats[];
}
