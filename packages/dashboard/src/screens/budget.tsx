import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { loadStats, onEvent, stats, status } from "../data/app-state.ts";
import type { EndpointStats } from "../shapes/types.ts";
import { Histogram } from "../parts/histogram.tsx";
import { count, duration, shortUrl } from "../words/format.ts";
import { percentile } from "../words/percentile.ts";

const EVERY_MS = 2_000;

/** How much of the five seconds each endpoint uses. */
export function Budget(): JSX.Element {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (): void => {
      timer = undefined;
      loadStats().catch(() => {});
    };
    read();
    const stop = onEvent(({ event }) => {
      if (event === "attempt" || event === "reset") timer ??= setTimeout(read, EVERY_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  const found = stats.value?.endpoints ?? [];
  const budget = status.value?.budgetMs ?? 5_000;
  return (
    <div class="screen">
      <h2>The budget</h2>
      <p class="lead">
        An endpoint has {duration(budget)} to answer. Later than that, the attempt has failed and is repeated.
        A bar shows its deliveries.
      </p>
      {found.length === 0 && <p class="empty">No attempts yet.</p>}
      {found.map((endpoint) => (
        <EndpointBudget
          key={`${endpoint.destination} ${endpoint.url}`}
          endpoint={endpoint}
          budgetMs={budget}
        />
      ))}
    </div>
  );
}

function EndpointBudget({
  endpoint,
  budgetMs,
}: {
  readonly endpoint: EndpointStats;
  readonly budgetMs: number;
}): JSX.Element {
  const { url, destination, responseTimes } = endpoint;
  const { bounds, counts, overBudget, nearMisses = 0 } = responseTimes;
  const figures = [
    ["p50", percentile(bounds, counts, overBudget, 0.5)],
    ["p95", percentile(bounds, counts, overBudget, 0.95)],
    ["p99", percentile(bounds, counts, overBudget, 0.99)],
  ] as const;
  return (
    <section class="card stack" aria-label={`Response times of ${url}`}>
      <h3>
        <bdi>{shortUrl(url)}</bdi> <span class="about">{destination}</span>
      </h3>
      <dl class="figures">
        {figures.map(([name, ms]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {ms === undefined ? "—" : ms >= budgetMs ? `over ${duration(budgetMs)}` : `≤ ${duration(ms)}`}
            </dd>
          </div>
        ))}
        <div class={nearMisses > 0 ? "warn" : ""}>
          <dt>near misses</dt>
          <dd>{count(nearMisses)}</dd>
        </div>
        <div class={overBudget > 0 ? "bad" : ""}>
          <dt>too late</dt>
          <dd>{count(overBudget)}</dd>
        </div>
      </dl>
      <Histogram url={url} bounds={bounds} counts={counts} over={overBudget} />
    </section>
  );
}
