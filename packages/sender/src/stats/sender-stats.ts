import type { DeliveryCounts } from "../store/delivery-store.ts";
import type { AttemptOutcome } from "../transport/transport.ts";

/** Response times of one endpoint since the sender was created. */
export interface ResponseTimes {
  /** Upper bounds of the buckets, in milliseconds. The last bound is the time that an endpoint has to respond. */
  readonly bounds: readonly number[];
  /** How many responses took no longer than the bound of the same position, and longer than the one before. */
  readonly counts: readonly number[];
  /** How many attempts ended without a response in time. */
  readonly overBudget: number;
  /** How many responses there were. */
  readonly count: number;
  /** Their total, in milliseconds. */
  readonly sumMs: number;
}

/** One endpoint since the sender was created. */
export interface EndpointStats {
  /** `<source>/<destination>`. */
  readonly destination: string;
  readonly url: string;
  /** Attempts by outcome. */
  readonly outcomes: Readonly<Record<AttemptOutcome, number>>;
  readonly responseTimes: ResponseTimes;
}

/** One destination: deliveries that the store keeps, by state. */
export interface DestinationStats extends Readonly<DeliveryCounts> {
  /** `<source>/<destination>`. */
  readonly destination: string;
  /** Whether its deliveries are being sent. */
  readonly enabled: boolean;
}

/** One source. */
export interface SourceStats {
  readonly source: string;
  /** Calls counted as usage, over the store's whole life. */
  readonly usage: number;
}

/** What a sender has done and has left to do. */
export interface SenderStats {
  readonly sources: readonly SourceStats[];
  readonly destinations: readonly DestinationStats[];
  readonly endpoints: readonly EndpointStats[];
}
