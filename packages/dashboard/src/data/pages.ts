import type { Cursor } from "@countersign/sender/store";
import { rowOf, type Row } from "../shapes/row.ts";
import type { Count, DeliveryPage } from "../shapes/types.ts";
import { count, get } from "./api.ts";
import { isLocal, matchesRow, toQuery, type Filter } from "./filter.ts";

/** How many deliveries a page has at most. */
export const PAGE = 1_000;
/** A filter of the page's own looks through so many pages before it asks whether to continue. */
export const PAGES_AT_ONCE = 10;

/** Rows of the API, newest first, and where those after them begin. */
export interface Page {
  readonly rows: Row[];
  readonly next: string | undefined;
  /** Where the page ends, though the page leaves its last row out. */
  readonly end?: Cursor | undefined;
}

/** Which part of what matches is read. */
interface Part {
  readonly limit: number;
  readonly after?: string | undefined;
}

/** How many deliveries match a filter, and how many there are, as far as is known. */
export interface Counts {
  total: Count | undefined;
  readonly all: Count | undefined;
}

/** Reads a page of the deliveries that match. It has fewer rows than its limit where the page itself leaves some out. */
export async function readPage(filter: Filter, part: Part): Promise<Page> {
  const { deliveries, next } = await get<DeliveryPage>("/deliveries", { ...toQuery(filter), ...part });
  const rows = deliveries.map(rowOf);
  return {
    rows: isLocal(filter) ? rows.filter((row) => matchesRow(filter, row)) : rows,
    next,
    end: rows.at(-1),
  };
}

/**
 * Reads page by page from the beginning.
 *
 * @param wanted How many rows are enough.
 * @param isOver Whether they are not wanted any more.
 */
export async function readFirst(filter: Filter, wanted: number, isOver: () => boolean): Promise<Page> {
  const rows: Row[] = [];
  let next: string | undefined;
  let pages = 0;
  do {
    const limit = isLocal(filter) ? PAGE : Math.min(Math.max(wanted - rows.length, 1), PAGE);
    const page = await readPage(filter, { limit, after: next });
    rows.push(...page.rows);
    next = page.next;
    pages += 1;
  } while (next !== undefined && rows.length < wanted && pages < PAGES_AT_ONCE && !isOver());
  return { rows, next };
}

/** Asks how many match. What the page itself leaves out is not counted by the server. */
export async function readCounts(filter: Filter): Promise<Counts> {
  const [matching, all] = await Promise.all([count(toQuery(filter)), count()]);
  return { total: isLocal(filter) ? undefined : matching, all };
}
