import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { status } from "../../data/app-state.ts";
import type { Attempt } from "../../shapes/types.ts";
import { duration, plural, shortUrl } from "../../words/format.ts";
import { attemptVerdict } from "../../words/words.ts";
import { layOut } from "./time-axis.ts";

const LANE = 26;
const TOP = 16;
/** Narrower folds have no room for their words. */
const LABEL_FROM = 18;

interface Props {
  readonly history: readonly Attempt[];
  readonly signed: boolean;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

/** A lane for each endpoint, on an axis of time that folds what lies idle. The list of attempts below says the same in words. */
export function Lanes({ history, signed, selected, onSelect }: Props): JSX.Element {
  const lanes = [...new Set(history.map(({ endpoint }) => endpoint))];
  const spans = history.map(({ startedAt, durationMs }) => ({
    startedAt: Date.parse(startedAt),
    durationMs,
  }));
  const { width, places, folds } = layOut(spans, status.value.budgetMs);
  const scroller = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // The last attempts say how it stands.
    scroller.current?.scrollTo({ left: width });
  }, [width]);
  const height = TOP + lanes.length * LANE + 4;
  return (
    <div class="lanes">
      <ul class="lane-names">
        {lanes.map((url) => (
          <li key={url} title={url}>
            {shortUrl(url)}
          </li>
        ))}
      </ul>
      <div class="lane-scroller" ref={scroller} tabIndex={0} role="region" aria-label="Attempts over time">
        <svg width={width + 12} height={height} role="img" aria-label={summary(history, lanes)}>
          {lanes.map((url, lane) => (
            <line key={url} class="lane-line" x1="0" x2={width + 8} y1={middle(lane)} y2={middle(lane)} />
          ))}
          {folds.map(({ at, width, ms }) => (
            <g key={at} class="fold-mark">
              <path
                d={`M${at + width / 2 - 2} ${TOP}v${lanes.length * LANE}M${at + width / 2 + 2} ${TOP}v${lanes.length * LANE}`}
              />
              {width >= LABEL_FROM && (
                <text x={at + width / 2} y="10" text-anchor="middle">
                  {short(ms)}
                </text>
              )}
              <title>{duration(ms)} idle</title>
            </g>
          ))}
          {history.map((attempt, index) => {
            const { from, width } = places[index] ?? { from: 0, width: 0 };
            const { tone, word } = attemptVerdict(attempt, signed);
            const y = middle(lanes.indexOf(attempt.endpoint));
            return (
              <g
                key={index}
                class={`attempt ${tone} ${index === selected ? "selected" : ""}`}
                onClick={() => onSelect(index)}
              >
                <rect class="attempt-hit" x={from - 2} y={y - LANE / 2} width={width + 4} height={LANE} />
                <rect class="attempt-bar" x={from} y={y - 7} width={width} height="14" rx="2" />
                {tone !== "good" && (
                  <path class="attempt-cross" d={`M${from + 2} ${y - 3}l3 6M${from + 5} ${y - 3}l-3 6`} />
                )}
                <title>
                  Try {attempt.round}: {word}, {duration(attempt.durationMs)}
                </title>
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}

function middle(lane: number): number {
  return TOP + lane * LANE + LANE / 2;
}

/** The largest unit alone, without a space: there is room for no more. */
function short(ms: number): string {
  const [number = "", unit = ""] = duration(ms).split(" ");
  return `${Math.round(Number(number))}${unit === "min" ? "m" : unit}`;
}

function summary(history: readonly Attempt[], lanes: readonly string[]): string {
  const over = Date.parse(history.at(-1)?.startedAt ?? "") - Date.parse(history[0]?.startedAt ?? "");
  return `${plural(history.length, "attempt")} to ${plural(lanes.length, "endpoint")} in ${duration(over || 0)}`;
}
