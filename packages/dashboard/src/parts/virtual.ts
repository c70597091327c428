import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** The part of a long list that is in view, in rows. */
export interface Range {
  readonly from: number;
  readonly to: number;
  readonly rowHeight: number;
}

const OVERSCAN = 8;

/**
 * Follows a scrolling element whose content is rows of one height: that which the style gives to those that are drawn.
 *
 * @param onRange Called when other rows come into view.
 */
export function useRange(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  onRange?: (range: Range) => void,
): Range {
  const [{ top, height, rowHeight }, setView] = useState({ top: 0, height: 800, rowHeight: 36 });

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = (): void => {
      // Not rounded: thousands of rows would not end where the last one does.
      const row = element.querySelector(".window > *, .json-line")?.getBoundingClientRect();
      setView(({ rowHeight }) => ({
        top: element.scrollTop,
        height: element.clientHeight,
        rowHeight: row?.height || rowHeight,
      }));
    };
    // A browser tells of both at most once a frame.
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const gone = new AbortController();
    element.addEventListener("scroll", measure, gone);
    // On paper it can be higher.
    matchMedia("print").addEventListener("change", measure, gone);
    measure();
    return () => {
      observer.disconnect();
      gone.abort();
    };
  }, [scroller, count > 0]);

  const visibleFrom = Math.floor(top / rowHeight);
  const visibleTo = Math.ceil((top + height) / rowHeight);
  const to = Math.min(visibleTo + OVERSCAN, count);
  const from = Math.max(Math.min(visibleFrom - OVERSCAN, to - 1), 0);
  const range = { from, to, rowHeight };
  useLayoutEffect(() => onRange?.(range), [from, to, count]);
  return range;
}

/** Higher than 17,895,697 px, an element has no height at all in Firefox, and shows nothing. */
const MOST_HEIGHT = 16e6;

/** The height of rows in pixels. What a browser has no room for is found by a filter. */
export function heightOf(count: number, rowHeight: number): number {
  return Math.min(count * rowHeight, MOST_HEIGHT);
}

/**
 * Scrolls as little as needed for a row to be in view.
 *
 * @param covered Height of the head of the list, which stays in view above the rows.
 */
export function showRow(element: HTMLElement, index: number, rowHeight: number, covered: number): void {
  const [top, bottom] = [index * rowHeight, (index + 1) * rowHeight + covered];
  if (top < element.scrollTop) element.scrollTop = top;
  else if (bottom > element.scrollTop + element.clientHeight)
    element.scrollTop = bottom - element.clientHeight;
}
