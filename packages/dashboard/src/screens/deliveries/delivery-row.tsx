import type { JSX } from "preact";
import type { Row } from "../../data/row.ts";
import { status } from "../../data/app-state.ts";
import { Mark } from "../../parts/mark.tsx";
import { clockTime, duration, exactTime, visible } from "../../words/format.ts";
import { answerWord, stateVerdict } from "../../words/words.ts";

interface Props {
  /** Absent while it is read again. */
  readonly row: Row | undefined;
  readonly index: number;
  readonly selected: boolean;
  readonly active: boolean;
  readonly onOpen: (id: string) => void;
}

/** One delivery in the list. */
export function DeliveryRow({ row, index, selected, active, onOpen }: Props): JSX.Element {
  if (!row) {
    return (
      <div class="row" role="row" aria-rowindex={index + 2}>
        <span role="gridcell" class="reading">
          …
        </span>
      </div>
    );
  }
  const verdict = stateVerdict(row.state, row);
  return (
    <div
      id={`row-${row.id}`}
      class={`row ${verdict.tone} ${active ? "active" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      onClick={() => onOpen(row.id)}
    >
      <span role="gridcell" class="time" title={exactTime(row.at)}>
        {clockTime(row.at)}
      </span>
      <span role="gridcell" class="state">
        <Mark {...verdict} />
      </span>
      <span role="gridcell" class="type">
        {row.type}
      </span>
      <span role="gridcell" class="event" title={visible(row.event)}>
        <bdi>{visible(row.event) || "—"}</bdi>
      </span>
      <span role="gridcell" class="user" title={visible(row.identity)}>
        <bdi>{visible(row.identity)}</bdi>
      </span>
      <span role="gridcell" class="destination" title={row.destination}>
        {row.destination}
      </span>
      <span role="gridcell" class="tries">
        {row.attempts}
      </span>
      <span role="gridcell" class="answer">
        {row.outcome === "" ? "" : answerWord({ ...row, outcome: row.outcome })}
      </span>
      <span role="gridcell" class="took">
        <ResponseTime ms={row.attempts === 0 ? undefined : row.ms} />
      </span>
    </div>
  );
}

/** A time against what an endpoint has: a bar, and the number. */
export function ResponseTime({ ms }: { readonly ms: number | undefined }): JSX.Element | null {
  if (ms === undefined) return null;
  const budget = status.value?.budgetMs ?? 5_000;
  const part = Math.min(ms / budget, 1);
  const tone = ms >= budget ? "bad" : ms >= budget * 0.8 ? "warn" : "good";
  return (
    <span class={`took-bar ${tone}`}>
      <span class="track" aria-hidden="true">
        <span class="fill" style={{ width: `${Math.max(part * 100, 2)}%` }} />
      </span>
      {duration(ms)}
    </span>
  );
}
