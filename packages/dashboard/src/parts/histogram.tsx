import type { JSX } from "preact";
import { hrefOf } from "../route/route.ts";
import type { EndpointStats } from "../shapes/stats.ts";
import { count, duration, nameOf, plural } from "../words/format.ts";

const HEIGHT = 120;
const BASE = 140;
const STEP = 56;

/** Response times as bars; the limit is drawn between the last two. Each bar leads to its deliveries. */
export function Histogram({ url, destination, responseTimes }: EndpointStats): JSX.Element {
  const { bounds, counts, overBudget } = responseTimes;
  const all = [...counts, overBudget];
  const most = Math.max(...all, 1);
  const limit = bounds.at(-1) ?? 0;
  const width = all.length * STEP + 8;
  return (
    <div class="chart" role="region" tabIndex={0} aria-label={`Histogram of ${nameOf({ url, destination })}`}>
      <svg width={width} height="170" role="list" aria-label={`Response times of ${url}`}>
        {all.map((number, index) => {
          const isOver = index === counts.length;
          const [from, to] = [bounds[index - 1] ?? 0, bounds[index]];
          const range = isOver ? `over ${duration(limit)}` : `${duration(from)} to ${duration(to ?? 0)}`;
          const x = index * STEP + (isOver ? 8 : 0);
          const height = number === 0 ? 0 : Math.max((number / most) * HEIGHT, 3);
          const tone = isOver ? "bad" : (to ?? 0) > limit * 0.8 ? "warn" : "good";
          return (
            <g key={range} role="listitem">
              <a
                class={`bar ${tone}`}
                href={hrefOf("deliveries", { destination, endpoint: url, over: from, upTo: to })}
                aria-label={`${range}: ${plural(number, "attempt")}`}
              >
                <rect class="bar-hit" x={x} y="0" width={STEP} height="166" />
                <rect x={x + 6} y={BASE - height} width={STEP - 12} height={height} rx="2" />
              </a>
              <g class="bar-text" aria-hidden="true">
                {number > 0 && (
                  <text x={x + STEP / 2} y={BASE - height - 4} text-anchor="middle">
                    {count(number)}
                  </text>
                )}
                <text x={x + STEP / 2} y="157" text-anchor="middle">
                  {isOver ? "over" : `≤${duration(to ?? 0)}`}
                </text>
              </g>
            </g>
          );
        })}
        <g class="limit" role="presentation">
          <line x1={counts.length * STEP + 4} x2={counts.length * STEP + 4} y1="4" y2={BASE + 4} />
          <text x={counts.length * STEP} y="14" text-anchor="end">
            limit {duration(limit)}
          </text>
        </g>
        <line class="lane-line" x1="0" x2={width} y1={BASE} y2={BASE} />
      </svg>
    </div>
  );
}
