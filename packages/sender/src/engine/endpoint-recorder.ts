import { isSlow } from "../explain/texts.ts";
import type { Attempt, AttemptOutcome, AttemptSummary } from "../delivery/attempt.ts";
import type { MinuteCounts } from "./minute-counts.ts";

/** The counts of one endpoint since the sender was created. */
export interface EndpointStats {
  /** `<source>/<destination>`. */
  readonly destination: string;
  /** URL of the endpoint. */
  readonly url: string;
  /** Attempts by outcome. */
  readonly outcomes: Readonly<Record<AttemptOutcome, number>>;
  /** How many of the last attempts failed in a row. */
  readonly failures: number;
  /** When the first of them started, in milliseconds since 1970. */
  readonly failingSince?: number | undefined;
  /** The last of them. */
  readonly lastFailure?: AttemptSummary | undefined;
  /** How long its responses took. */
  readonly responseTimes: {
    /** Upper bounds of the buckets, in milliseconds. The last bound is the time that an endpoint has to respond. */
    readonly bounds: readonly number[];
    /** How many responses took no longer than the bound of the same position, and longer than the one before. */
    readonly counts: readonly number[];
    /** How many attempts ended without a response in time. */
    readonly overBudget: number;
    /** How many attempts succeeded after more than four fifths of the time: 4 s of 5. */
    readonly nearMisses: number;
    /** How many responses there were. */
    readonly count: number;
    /** Their total, in milliseconds. */
    readonly sumMs: number;
  };
}

/** An endpoint that fails, or succeeds again. */
export interface FailureStreak {
  /** `<source>/<destination>`. */
  readonly destination: string;
  /** URL of the endpoint. */
  readonly endpoint: string;
  /** How many attempts failed in a row. */
  readonly failures: number;
  /** When the first of them started, in milliseconds since 1970. */
  readonly since: number;
  /** The last attempt: of `failing` the last that failed, of `recovered` the one that succeeded. */
  readonly last: Attempt;
}

/** Called with every attempt that changes the state of an endpoint. */
interface Listener {
  emit(event: "failing" | "recovered", streak: FailureStreak): void;
}

// Close to five seconds, a response is close to a timeout.
const INNER_BOUNDS: readonly number[] = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 3_000, 4_000, 4_500, 4_900,
];

interface Tally {
  readonly destination: string;
  readonly url: string;
  readonly outcomes: Record<AttemptOutcome, number>;
  readonly counts: number[];
  overBudget: number;
  nearMisses: number;
  sumMs: number;
  failures: number;
  failingSince: number | undefined;
  lastFailure: AttemptSummary | undefined;
}

/** Counts attempts by minute, and for each endpoint by outcome, by the time of their responses, and failures in a row. */
export class EndpointRecorder {
  readonly #budgetMs: number;
  readonly #bounds: readonly number[];
  readonly #failingAfter: number;
  readonly #minutes: MinuteCounts;
  readonly #listener: Listener;
  readonly #tallies = new Map<string, Map<string, Tally>>();

  /**
   * @param budgetMs How long an endpoint may take to respond.
   * @param failingAfter How many failures in a row make an endpoint a failing one.
   */
  constructor(budgetMs: number, failingAfter: number, minutes: MinuteCounts, listener: Listener) {
    this.#budgetMs = budgetMs;
    this.#bounds = [...INNER_BOUNDS.filter((bound) => bound < budgetMs), budgetMs];
    this.#failingAfter = failingAfter;
    this.#minutes = minutes;
    this.#listener = listener;
  }

  record(destination: string, attempt: Attempt): void {
    const { endpoint, outcome, status, durationMs } = attempt;
    const tally = this.#tallies.get(destination)?.get(endpoint) ?? this.#add(destination, endpoint);
    this.#minutes.add("attempts");
    tally.outcomes[outcome] += 1;
    if (outcome === "timeout") tally.overBudget += 1;
    if (outcome !== "success") {
      this.#minutes.add("failures");
    } else if (isSlow(durationMs, this.#budgetMs)) {
      this.#minutes.add("nearMisses");
      tally.nearMisses += 1;
    }
    if (status !== undefined) {
      const bucket = this.#bounds.findIndex((bound) => durationMs <= bound);
      if (bucket === -1) tally.overBudget += 1;
      else tally.counts[bucket] = (tally.counts[bucket] ?? 0) + 1;
      tally.sumMs += durationMs;
    }
    if (outcome !== "success" || tally.failures > 0) this.#follow(tally, attempt);
  }

  snapshot(): readonly EndpointStats[] {
    const tallies = [...this.#tallies.values()].flatMap((byUrl) => [...byUrl.values()]);
    return tallies.map(({ counts, overBudget, nearMisses, sumMs, outcomes, ...others }) => ({
      ...others,
      outcomes: { ...outcomes },
      responseTimes: {
        bounds: this.#bounds,
        counts: [...counts],
        overBudget,
        nearMisses,
        count: counts.reduce((sum, count) => sum + count, 0),
        sumMs,
      },
    }));
  }

  /** Counts failures in a row. What a receiver says to a request that was spoilt on purpose is not about the endpoint. */
  #follow(tally: Tally, attempt: Attempt): void {
    const { outcome, fault, startedAt } = attempt;
    if (fault !== undefined && (outcome === "success" || outcome === "rejected")) return;
    const { destination, url: endpoint } = tally;
    const since = tally.failingSince ?? startedAt;
    if (outcome !== "success") {
      tally.failures += 1;
      tally.failingSince = since;
      tally.lastFailure = summaryOf(attempt);
      const { failures } = tally;
      if (failures === this.#failingAfter) {
        this.#listener.emit("failing", { destination, endpoint, failures, since, last: attempt });
      }
      return;
    }
    const { failures } = tally;
    tally.failures = 0;
    tally.failingSince = undefined;
    tally.lastFailure = undefined;
    if (failures >= this.#failingAfter) {
      this.#listener.emit("recovered", { destination, endpoint, failures, since, last: attempt });
    }
  }

  #add(destination: string, url: string): Tally {
    const byUrl = this.#tallies.get(destination) ?? new Map<string, Tally>();
    const tally: Tally = {
      destination,
      url,
      outcomes: { success: 0, server_error: 0, timeout: 0, network: 0, rejected: 0, tls: 0 },
      counts: Array<number>(this.#bounds.length).fill(0),
      overBudget: 0,
      nearMisses: 0,
      sumMs: 0,
      failures: 0,
      failingSince: undefined,
      lastFailure: undefined,
    };
    this.#tallies.set(destination, byUrl.set(url, tally));
    return tally;
  }
}

/** What is kept of it: a response can be 16 KiB long. */
function summaryOf({
  response: _,
  cut: __,
  requestHeaders: ___,
  responseHeaders: ____,
  ...summary
}: Attempt): AttemptSummary {
  return summary;
}
