import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { triesOf, type Row } from "../../shapes/row.ts";
import { serverNow, verdictOf } from "../../data/app-state.ts";
import { Mark } from "../../parts/mark.tsx";
import { ResponseTime } from "../../parts/response-time.tsx";
import { clockTime, exactTime, visible } from "../../words/format.ts";

interface Props {
  /** Absent while it is read again. */
  readonly row: Row | undefined;
  readonly index: number;
  /** Changes with the rows: a row is changed in place, so that it alone does not say that it has to be drawn again. */
  readonly version: number;
  readonly selected: boolean;
  readonly active: boolean;
  readonly onOpen: (id: string) => void;
}

/** One delivery in the list. While the list is only scrolled, its rows stay as they were drawn. */
export function DeliveryRow(props: Props): JSX.Element {
  const { row, index, version, selected, active } = props;
  return useMemo(
    () => (row ? <Delivery {...props} row={row} /> : <Absent index={index} />),
    [row, index, version, selected, active],
  );
}

function Absent({ index }: { readonly index: number }): JSX.Element {
  return (
    <div class="row" role="row" aria-rowindex={index + 2}>
      <span role="gridcell">…</span>
    </div>
  );
}

function Delivery({ row, index, selected, active, onOpen }: Props & { readonly row: Row }): JSX.Element {
  const verdict = verdictOf(row);
  return (
    <div
      id={`row-${row.id}`}
      class={`row ${verdict.tone} ${active ? "active" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      onClick={() => onOpen(row.id)}
    >
      <span role="gridcell" class="time" title={exactTime(row.acceptedAt)}>
        {clockTime(row.acceptedAt, serverNow())}
      </span>
      <span role="gridcell" class="state">
        <Mark {...verdict} />
      </span>
      <span role="gridcell" class="type">
        {row.type}
      </span>
      {/* In the direction of its script: where it is too long, its beginning is shown. */}
      <span role="gridcell" class="event" dir="auto" title={visible(row.event)}>
        {row.event === "" ? <span class="about">—</span> : visible(row.event)}
      </span>
      <span role="gridcell" class="user" dir="auto" title={visible(row.identity)}>
        {visible(row.identity)}
      </span>
      <span role="gridcell" class="destination" title={row.destination}>
        {row.destination}
      </span>
      <span role="gridcell" class="tries">
        {triesOf(row)}
      </span>
      <span role="gridcell" class="answer" title={row.last?.answer}>
        {row.last?.answer}
      </span>
      <span role="gridcell" class="response">
        <ResponseTime ms={row.last?.durationMs} />
      </span>
    </div>
  );
}
