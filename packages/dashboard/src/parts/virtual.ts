import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** The part of a long list that is in view, in rows. */
export interface Range {
  readonly from: number;
  readonly to: number;
  readonly rowHeight: number;
}

const OVERSCAN = 8;

/**
 * Follows a scrolling element whose content is rows of one height.
 *
 * @param heightAt The height of a row where the element is so wide.
 * @param onRange Called when other rows come into view.
 */
export function useRange(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  heightAt: (width: number) => number,
  onRange?: (range: Range) => void,
): Range {
  const [view, setView] = useState({ top: 0, height: 800, width: 800 });
  const frame = useRef(0);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = (): void => {
      frame.current = 0;
      // The width that the style stands on: with the scroll bar.
      setView({ top: element.scrollTop, height: element.clientHeight, width: element.offsetWidth });
    };
    const later = (): void => {
      frame.current ||= requestAnimationFrame(measure);
    };
    const observer = new ResizeObserver(later);
    observer.observe(element);
    const gone = new AbortController();
    element.addEventListener("scroll", later, gone);
    measure();
    return () => {
      observer.disconnect();
      gone.abort();
      cancelAnimationFrame(frame.current);
    };
  }, [scroller]);

  const rowHeight = heightAt(view.width);
  const visibleFrom = Math.floor(view.top / rowHeight);
  const visibleTo = Math.ceil((view.top + view.height) / rowHeight);
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
