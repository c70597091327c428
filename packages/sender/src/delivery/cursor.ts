/** A place in a list that is ordered by time. */
export interface Cursor {
  /** In milliseconds since 1970. */
  readonly acceptedAt: number;
  readonly id: string;
}

const CURSOR = /^(-?\d{1,16})\.([\w-]+)$/u;

/**
 * The cursor of an item of a list: the next page comes after it, whether or not the item is still kept then.
 *
 * @example
 * ```ts
 * const [newest] = await sender.deliveries({ limit: 1 });
 * if (newest !== undefined) await sender.summaries({ after: cursorOf(newest) }); // all but the newest
 * ```
 */
export function cursorOf({ acceptedAt, id }: Cursor): string {
  return `${acceptedAt}.${id}`;
}

/** @throws TypeError when a text is no cursor */
export function parseCursor(text: string): Cursor {
  const [, acceptedAt, id] = CURSOR.exec(text) ?? [];
  if (acceptedAt !== undefined && id !== undefined) return { acceptedAt: Number(acceptedAt), id };
  throw new TypeError(
    `after: ${JSON.stringify(text)} is not a cursor. Take \`next\` of the page before, or leave it out.`,
  );
}

/** The usual order of lists: newest first by time, and by id within a millisecond. */
export function newestFirst(a: Cursor, b: Cursor): number {
  if (a.acceptedAt !== b.acceptedAt) return b.acceptedAt - a.acceptedAt;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

/** The reverse order: oldest first. */
export function oldestFirst(a: Cursor, b: Cursor): number {
  return newestFirst(b, a);
}

/** Whether an item comes after a cursor in a list, the newest first. */
export function isAfterCursor(item: Cursor, cursor: Cursor): boolean {
  return newestFirst(item, cursor) > 0;
}
