import type { AttemptResult } from "../transport/transport.ts";
import type { DeliveryStore } from "../store/delivery-store.ts";
import type { AttemptOutcome } from "../delivery/attempt.ts";
import type { Source } from "../settings/parse-settings.ts";

/** What a sender has done and has left to do. */
export interface SenderStats {
  readonly sources: readonly {
    readonly source: string;
    /** Calls counted as usage, over the store's whole life. */
    readonly usage: number;
  }[];
  /** Deliveries that the store keeps, by state, for each destination. */
  readonly destinations: readonly {
    /** `<source>/<destination>`. */
    readonly destination: string;
    /** Whether its deliveries are being sent. */
    readonly enabled: boolean;
    readonly pending: number;
    readonly delivered: number;
    readonly failed: number;
    readonly expired: number;
  }[];
  /** Each endpoint since the sender was created. */
  readonly endpoints: readonly {
    /** `<source>/<destination>`. */
    readonly destination: string;
    readonly url: string;
    /** Attempts by outcome. */
    readonly outcomes: Readonly<Record<AttemptOutcome, number>>;
    readonly responseTimes: {
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
    };
  }[];
}

const INNER_BOUNDS: readonly number[] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500];

type EndpointStats = SenderStats["endpoints"][number];

interface Tally {
  readonly destination: string;
  readonly url: string;
  readonly outcomes: Record<AttemptOutcome, number>;
  readonly counts: number[];
  overBudget: number;
  sumMs: number;
}

/** Counts attempts by outcome, and responses by the time they took, for each endpoint. */
export class ResponseTimeRecorder {
  readonly #bounds: readonly number[];
  readonly #tallies = new Map<string, Tally>();

  /** `budgetMs`: how long an endpoint may take to respond. */
  constructor(budgetMs: number) {
    this.#bounds = [...INNER_BOUNDS.filter((bound) => bound < budgetMs), budgetMs];
  }

  record(destination: string, url: string, { outcome, status, durationMs }: AttemptResult): void {
    const tally = this.#of(destination, url);
    tally.outcomes[outcome] += 1;
    if (outcome === "timeout") tally.overBudget += 1;
    if (status === undefined) return;
    const bucket = this.#bounds.findIndex((bound) => durationMs <= bound);
    if (bucket === -1) tally.overBudget += 1;
    else tally.counts[bucket] = (tally.counts[bucket] ?? 0) + 1;
    tally.sumMs += durationMs;
  }

  snapshot(): readonly EndpointStats[] {
    return [...this.#tallies.values()].map(({ destination, url, outcomes, counts, overBudget, sumMs }) => ({
      destination,
      url,
      outcomes: { ...outcomes },
      responseTimes: {
        bounds: this.#bounds,
        counts: [...counts],
        overBudget,
        count: counts.reduce((sum, count) => sum + count, 0),
        sumMs,
      },
    }));
  }

  #of(destination: string, url: string): Tally {
    const key = `${destination} ${url}`;
    const known = this.#tallies.get(key);
    if (known !== undefined) return known;
    const outcomes: Tally["outcomes"] = {
      success: 0,
      server_error: 0,
      timeout: 0,
      network: 0,
      rejected: 0,
      tls: 0,
    };
    const counts = this.#bounds.map(() => 0);
    const tally: Tally = { destination, url, outcomes, counts, overBudget: 0, sumMs: 0 };
    this.#tallies.set(key, tally);
    return tally;
  }
}

const NONE = { pending: 0, delivered: 0, failed: 0, expired: 0 };

/** Puts together what settings, store and recorder know. */
export async function collectStats(
  sources: readonly Source[],
  store: DeliveryStore,
  recorder: ResponseTimeRecorder,
): Promise<SenderStats> {
  const [counts, usage] = await Promise.all([store.counts(), store.usage()]);
  const known = sources.flatMap((source) => source.destinations);
  const enabled = new Set(known.filter((destination) => destination.enabled).map(({ key }) => key));
  // A destination that is gone from the settings still has what waits for it.
  const keys = new Set([...known.map(({ key }) => key), ...counts.keys()]);
  return {
    sources: sources.map(({ name }) => ({ source: name, usage: usage.get(name) ?? 0 })),
    destinations: [...keys].map((key) => ({
      destination: key,
      enabled: enabled.has(key),
      ...(counts.get(key) ?? NONE),
    })),
    endpoints: recorder.snapshot(),
  };
}
