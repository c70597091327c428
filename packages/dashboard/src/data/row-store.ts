import { cursorOf, newestFirst, type Cursor } from "@countersign/sender/store";
import { mergeRow, type Row } from "../shapes/row.ts";

/** A run of neighbouring rows, newest first. Without `rows` it has left memory, and only its place is kept. */
interface Chunk {
  rows: Row[] | undefined;
  count: number;
  /** The ends of what it holds or held, to read it again. */
  newest: Cursor;
  oldest: Cursor;
}

/** Rows that are not in memory: how to read them again. */
export interface Gap {
  readonly newest: Cursor;
  readonly oldest: Cursor;
  /** The cursor of the row before them; undefined where the list begins with them. */
  readonly after: string | undefined;
}

const CHUNK_SIZE = 500;

/**
 * The rows of the list, newest first. At most `capacity` are in memory; those farthest from what is looked at leave first, keep
 * their place, and are read again when they come into view.
 */
export class RowStore {
  readonly #capacity: number;
  readonly #byId = new Map<string, Row>();
  /** Whether the list ends with its last row; else there are older ones that were not read yet. */
  complete = false;
  #chunks: Chunk[] = [];
  #length = 0;

  constructor(capacity = 100_000) {
    this.#capacity = capacity;
  }

  /** Rows with a place in the list, in memory or not. */
  get length(): number {
    return this.#length;
  }

  /** Rows in memory. */
  get loaded(): number {
    return this.#byId.size;
  }

  find(id: string): Row | undefined {
    return this.#byId.get(id);
  }

  /** The rows of a range of positions; undefined for one that is not in memory. */
  slice(from: number, to: number): (Row | undefined)[] {
    const found: (Row | undefined)[] = [];
    let start = 0;
    for (const { rows, count } of this.#chunks) {
      if (start >= to) break;
      for (let index = Math.max(from - start, 0); index < count && start + index < to; index += 1) {
        found.push(rows?.[index]);
      }
      start += count;
    }
    return found;
  }

  /** The position of a row that is in memory, or -1. */
  indexOf(id: string): number {
    const row = this.#byId.get(id);
    if (!row) return -1;
    let start = 0;
    for (const chunk of this.#chunks) {
      if (chunk.rows && newestFirst(chunk.oldest, row) >= 0) return start + chunk.rows.indexOf(row);
      start += chunk.count;
    }
    return -1;
  }

  /** Adds a row at its place, or takes over what it tells of one that is known. */
  add(row: Row): void {
    const known = this.#byId.get(row.id);
    if (known) {
      mergeRow(known, row);
      return;
    }
    const [head] = this.#chunks;
    const isNewest = !head || newestFirst(row, head.newest) < 0;
    if (isNewest && (!head?.rows || head.count >= CHUNK_SIZE)) {
      this.#chunks.unshift({ rows: [row], count: 1, newest: place(row), oldest: place(row) });
    } else if (!this.#insert(row)) return;
    this.#byId.set(row.id, row);
    this.#length += 1;
  }

  /** Adds a page of older rows at the end. */
  append(rows: readonly Row[]): void {
    const fresh = rows.filter((row) => {
      const known = this.#byId.get(row.id);
      if (known) mergeRow(known, row);
      return !known;
    });
    for (let from = 0; from < fresh.length; from += CHUNK_SIZE) {
      const part = fresh.slice(from, from + CHUNK_SIZE);
      const [first, last] = [part[0], part.at(-1)] as [Row, Row];
      this.#chunks.push({ rows: part, count: part.length, newest: place(first), oldest: place(last) });
      for (const row of part) this.#byId.set(row.id, row);
    }
    this.#length += fresh.length;
  }

  /** Removes rows that `gone` selects. */
  remove(gone: (row: Row) => boolean): void {
    this.#chunks = this.#chunks.filter((chunk) => {
      if (!chunk.rows?.some(gone)) return true;
      const kept = chunk.rows.filter((row) => !gone(row));
      for (const row of chunk.rows) if (gone(row)) this.#byId.delete(row.id);
      this.#length -= chunk.rows.length - kept.length;
      this.#resize(chunk, kept);
      return kept.length > 0;
    });
  }

  clear(): void {
    this.#chunks = [];
    this.#byId.clear();
    this.#length = 0;
    this.complete = false;
  }

  /** Lets rows far from a position leave memory, until no more than the capacity are in it. */
  trim(position: number): void {
    while (this.#byId.size > this.#capacity) {
      let start = 0;
      let farthest: { readonly chunk: Chunk; readonly distance: number } | undefined;
      for (const chunk of this.#chunks) {
        const distance = Math.abs(start + chunk.count / 2 - position);
        if (chunk.rows && distance >= (farthest?.distance ?? 0)) farthest = { chunk, distance };
        start += chunk.count;
      }
      for (const row of farthest?.chunk.rows ?? []) this.#byId.delete(row.id);
      if (!farthest) return;
      farthest.chunk.rows = undefined;
    }
  }

  /** The first rows in a range of positions that are not in memory. */
  gap(from: number, to: number): Gap | undefined {
    let start = 0;
    let after: string | undefined;
    for (const { rows, count, newest, oldest } of this.#chunks) {
      if (!rows && start < to && start + count > from) return { newest, oldest, after };
      start += count;
      after = cursorOf(oldest);
    }
    return undefined;
  }

  /** Puts rows that were read again into their place. What was deleted meanwhile is gone. */
  fill({ newest, oldest }: Gap, rows: readonly Row[]): void {
    const chunk = this.#chunks.find((chunk) => !chunk.rows && chunk.newest.id === newest.id);
    if (!chunk) return;
    const inside = rows.filter(
      (row) => newestFirst(row, newest) >= 0 && newestFirst(row, oldest) <= 0 && !this.#byId.has(row.id),
    );
    for (const row of inside) this.#byId.set(row.id, row);
    this.#length += inside.length - chunk.count;
    this.#resize(chunk, inside);
    if (inside.length === 0) this.#chunks = this.#chunks.filter((other) => other !== chunk);
  }

  /** Puts a row into the chunk it belongs to. False if that is not in memory, or lies beyond what was read so far. */
  #insert(row: Row): boolean {
    const beyond = this.complete ? this.#chunks.at(-1) : undefined;
    const chunk = this.#chunks.find(({ oldest }) => newestFirst(row, oldest) <= 0) ?? beyond;
    if (!chunk?.rows) return false;
    const at = chunk.rows.findIndex((other) => newestFirst(row, other) <= 0);
    chunk.rows.splice(at < 0 ? chunk.count : at, 0, row);
    this.#resize(chunk, chunk.rows);
    return true;
  }

  #resize(chunk: Chunk, rows: Row[]): void {
    chunk.rows = rows;
    chunk.count = rows.length;
    const [first, last] = [rows[0], rows.at(-1)];
    if (first && last) {
      chunk.newest = place(first);
      chunk.oldest = place(last);
    }
  }
}

function place({ acceptedAt, id }: Cursor): Cursor {
  return { acceptedAt, id };
}
