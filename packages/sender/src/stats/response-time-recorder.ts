import type { AttemptResult } from "../transport/transport.ts";
import type { EndpointStats } from "./sender-stats.ts";

const innerBounds: readonly number[] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500];

type Outcomes = { -readonly [K in keyof EndpointStats["outcomes"]]: number };

interface Tally {
  readonly destination: string;
  readonly url: string;
  readonly outcomes: Outcomes;
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
    this.#bounds = [...innerBounds.filter((bound) => bound < budgetMs), budgetMs];
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
    const outcomes: Outcomes = { success: 0, server_error: 0, timeout: 0, network: 0, rejected: 0, tls: 0 };
    const counts = this.#bounds.map(() => 0);
    const tally: Tally = { destination, url, outcomes, counts, overBudget: 0, sumMs: 0 };
    this.#tallies.set(key, tally);
    return tally;
  }
}
