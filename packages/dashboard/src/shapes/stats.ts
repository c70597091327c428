export interface EndpointStats {
  readonly destination: string;
  readonly url: string;
  readonly failures?: number;
  readonly failingSince?: string;
  readonly responseTimes: {
    readonly bounds: readonly number[];
    readonly counts: readonly number[];
    readonly overBudget: number;
    readonly nearMisses?: number;
  };
}
