/** The part of the counts of a server that the page reads. */
export interface Stats {
  readonly destinations: readonly {
    readonly destination: string;
    readonly pending: number;
    readonly failed: number;
    readonly expired: number;
    readonly oldestPendingAt?: string;
  }[];
  readonly endpoints: readonly EndpointStats[];
  readonly forgeries: readonly Forgery[];
}

/** A receiver that took a forged message for a real one. */
interface Forgery {
  readonly destination: string;
  readonly url: string;
  /** Without one, an audit forged the message. */
  readonly delivery?: string;
  readonly fault: string;
  readonly status: number;
}

export interface EndpointStats {
  readonly destination: string;
  readonly url: string;
  readonly failures?: number;
  readonly failingSince?: string;
  readonly lastFailure?: { readonly answer: string };
  readonly responseTimes: {
    readonly bounds: readonly number[];
    readonly counts: readonly number[];
    readonly overBudget: number;
    readonly nearMisses?: number;
  };
}
