import { signal, watch } from "../../signals/signals.ts";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { list } from "../../data/app-state.ts";
import { heightOf, showRow, useRange } from "../../parts/virtual.ts";
import { change, route } from "../../route/route.ts";
import { count } from "../../words/format.ts";
import { singleKeys, useKey } from "../keys.tsx";
import { DeliveryRow } from "./delivery-row.tsx";
import { focusNext } from "../../parts/list-focus.ts";

const COLUMNS = ["Time", "State", "Type", "Event", "User", "Destination", "Tries", "Answer", "Response time"];
const PAGE_ROWS = 15;

/** The row that the keyboard is at, by the id of its delivery: it stays the same when others come and go. */
const active = signal<string | undefined>(undefined);
/** Whether the person has stopped the list. */
export const paused = signal(false);

/** The list itself: a grid with one tab stop, of which only the rows in view are in the document. */
export function DeliveryGrid(): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const { rows } = list;
  const version = list.version.value;
  const { from, to, rowHeight } = useRange(scroller, rows.length, ({ from, to }) => {
    void list.look(from, to);
    if (to >= rows.length - 50) void list.more();
  });
  useHold(scroller);
  const selected = route.value.parameters.get("id");
  const move = (index: number): void => moveTo(index, scroller.current, rowHeight);

  useKey("n", () => showNew(scroller.current, false));
  useKey("p", togglePause);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key.length === 1 && !singleKeys.value) return;
    const at = rows.indexOf(active.value ?? "");
    const target = keyTarget(event.key, at, rows.length);
    if (target !== undefined) move(target);
    else if (event.key === "Enter" && active.value !== undefined) {
      focusNext();
      open(active.value);
      document.querySelector<HTMLElement>(".detail h2")?.focus();
    } else return;
    event.preventDefault();
  };

  return (
    <div class="grid-frame">
      {list.waiting.value > 0 && (
        <button
          type="button"
          class="news primary"
          onClick={({ detail }) => showNew(scroller.current, detail === 0)}
        >
          {count(list.waiting.value)} new <kbd>n</kbd>
        </button>
      )}
      <div
        id="delivery-grid"
        class="grid"
        role="grid"
        aria-label="Deliveries"
        aria-rowcount={(list.total.value ?? rows.length) + 1}
        aria-colcount={COLUMNS.length}
        aria-activedescendant={rows.find(active.value ?? "") && `row-${active.value}`}
        tabIndex={0}
        ref={scroller}
        onKeyDown={onKeyDown}
        onFocus={() => (active.value ??= selected ?? rows.slice(0, 1)[0]?.id)}
      >
        {/* A name has the class of its cells, so that both are shown or neither. */}
        <div class="row head" role="row" aria-rowindex={1}>
          {COLUMNS.map((name, index) => (
            <span key={name} role="columnheader" aria-colindex={index + 1} class={name.toLowerCase()}>
              {name}
            </span>
          ))}
        </div>
        <div class="rows" role="rowgroup" style={{ height: `${heightOf(rows.length, rowHeight)}px` }}>
          <div class="window" role="presentation" style={{ transform: `translateY(${from * rowHeight}px)` }}>
            {rows.slice(from, to).map((row, index) => (
              <DeliveryRow
                key={row?.id ?? `gap-${from + index}`}
                row={row}
                version={version}
                index={from + index}
                selected={row?.id === selected}
                active={row?.id === active.value}
                onOpen={open}
              />
            ))}
          </div>
        </div>
        {list.loadingMore.value && <p class="more">Reading older ones…</p>}
      </div>
    </div>
  );
}

function open(id: string): void {
  active.value = id;
  change({ id });
}

function keyTarget(key: string, at: number, length: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    j: at + 1,
    ArrowUp: at - 1,
    k: at - 1,
    PageDown: at + PAGE_ROWS,
    PageUp: at - PAGE_ROWS,
    Home: 0,
    End: length - 1,
  };
  const target = targets[key];
  return target === undefined ? undefined : Math.min(Math.max(target, 0), length - 1);
}

/** Moves the keyboard to a row. Where a delivery is shown, the one of the new row is shown in its place. */
function moveTo(index: number, element: HTMLElement | null, rowHeight: number): void {
  const [row] = list.rows.slice(index, index + 1);
  if (!row || !element) return;
  active.value = row.id;
  showRow(element, index, rowHeight, element.querySelector<HTMLElement>(".head")?.offsetHeight ?? 0);
  if (route.value.parameters.has("id")) change({ id: row.id }, true);
}

/** @param byKey Whether the keyboard asked for them: it goes on in the list, where a pointer is still over it. */
function showNew(element: HTMLElement | null, byKey: boolean): void {
  list.release();
  if (!element) return;
  element.scrollTop = 0;
  if (byKey) element.focus();
}

/** Pauses the list, and lets it continue. */
export function togglePause(): void {
  paused.value = !paused.value;
}

/** While someone looks into the list, nothing in it moves. */
function useHold(scroller: { readonly current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    let pointer = false;
    const update = (): void =>
      list.hold(paused.value || pointer || element.contains(document.activeElement) || element.scrollTop > 0);
    const later = (): void => void setTimeout(update);
    const enter = (event: PointerEvent): void => {
      if (event.pointerType === "mouse") pointer = true;
      update();
    };
    const leave = (): void => {
      pointer = false;
      update();
    };
    // The button for new rows lies over the list: a pointer on it has not left.
    const frame = element.parentElement ?? element;
    const gone = new AbortController();
    frame.addEventListener("pointerenter", enter, gone);
    frame.addEventListener("pointerleave", leave, gone);
    element.addEventListener("focusin", update, gone);
    element.addEventListener("focusout", later, gone);
    element.addEventListener("scroll", update, gone);
    const stop = watch(paused, update);
    return () => {
      stop();
      gone.abort();
      list.hold(paused.value);
    };
  }, [scroller]);
}
