import type { JSX } from "preact";
import { loadStats, stats, status } from "../data/app-state.ts";
import type { EndpointStats } from "../shapes/stats.ts";
import { useLive } from "../parts/hooks.ts";
import { Card } from "../parts/card.tsx";
import { First } from "../parts/many.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { Histogram } from "../parts/histogram.tsx";
import { count, duration, nameOf, shortUrl } from "../words/format.ts";
import { percentile } from "../words/percentile.ts";

const EVERY_MS = 2_000;

/** How much of the five seconds each endpoint uses. */
export function Budget(): JSX.Element {
  useLive(loadStats, ["attempt"], EVERY_MS);
  const found = stats.value?.endpoints;
  const { budgetMs } = status.value;
  return (
    <div class="screen">
      <h2>The budget</h2>
      <p class="lead">
        An endpoint has {duration(budgetMs)} to answer. After that, the attempt has failed and is repeated. A
        bar counts attempts since the server has started. It leads to deliveries by their last attempt, so the
        numbers can differ.
      </p>
      {found?.length === 0 && <p class="empty">No attempts yet.</p>}
      <First all={found ?? []} noun="endpoint" textOf={nameOf}>
        {(first) => first.map((endpoint) => <EndpointBudget key={nameOf(endpoint)} {...endpoint} />)}
      </First>
    </div>
  );
}

function EndpointBudget(endpoint: EndpointStats): JSX.Element {
  const { url, destination, responseTimes } = endpoint;
  const { budgetMs } = status.value;
  const { bounds, counts, overBudget, nearMisses = 0 } = responseTimes;
  const figures = [50, 95, 99].map<readonly [string, string]>((part) => {
    const ms = percentile(bounds, counts, overBudget, part / 100);
    const late = ms !== undefined && ms >= budgetMs;
    return [`p${part}`, ms === undefined ? "—" : late ? `over ${duration(budgetMs)}` : `≤ ${duration(ms)}`];
  });
  return (
    <Card title={shortUrl(url)} about={destination}>
      <Pairs
        kind="figures"
        entries={[
          ...figures,
          ["near misses", count(nearMisses), nearMisses > 0 ? "warn" : ""],
          ["too late", count(overBudget), overBudget > 0 ? "bad" : ""],
        ]}
      />
      <Histogram {...endpoint} />
    </Card>
  );
}
