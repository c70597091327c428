import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "libsql";
import { type Cursor, newestFirst, oldestFirst } from "../delivery/cursor.ts";
import { type DeliveryFilter, limitOf } from "../delivery/delivery-filter.ts";
import type { Delivery, DeliverySummary } from "../delivery/delivery.ts";
import type { ListOrder } from "../store/delivery-store.ts";
import { type Bound, Conditions } from "./conditions.ts";
import type { DeliveryCounter } from "./delivery-counter.ts";
import {
  type AttemptRow,
  type DeliveryRow,
  deliveryOf,
  SELECT_ATTEMPTS,
  SELECT_DELIVERIES,
  SUMMARY_COLUMNS,
  type SummaryRow,
  summaryOf,
} from "./delivery-rows.ts";
import { preparedOnce, type Preparing } from "./prepared-once.ts";
import { planSearch, type Range, type SearchPlan } from "./search-plan.ts";

/** Rows looked at in one turn of the event loop: some milliseconds. A range is begun with fewer: most are not read far. */
const STRETCH = 2_000;
const FIRST_STRETCH = 64;

/** The same of those that are counted with the index alone. */
const COUNTED_STRETCH = 50_000;

/** Rows of a page that are read in one turn of the event loop. */
const ROWS_AT_ONCE = 200;

/** With more ranges than this, each is read row by row first: most of them have nothing on the page. */
const MANY_RANGES = 8;

/**
 * How rows are read in an order: after the place that is bound as a time, a time and an id, and up to the time that is bound, with all
 * that was accepted then. What follows that time begins at a place, too.
 */
const ORDERS = {
  "newest first": {
    compare: newestFirst,
    byTime: "d.accepted_at DESC",
    sort: "d.accepted_at DESC, d.id DESC",
    after: "d.accepted_at <= ? AND (d.accepted_at < ? OR d.id < ?)",
    upTo: "d.accepted_at >= ?",
    placeBehind: (acceptedAt: number): Cursor => ({ acceptedAt, id: "" }),
  },
  "oldest first": {
    compare: oldestFirst,
    byTime: "d.accepted_at",
    sort: "d.accepted_at, d.id",
    after: "d.accepted_at >= ? AND (d.accepted_at > ? OR d.id > ?)",
    upTo: "d.accepted_at <= ?",
    placeBehind: (acceptedAt: number): Cursor => ({ acceptedAt: acceptedAt + 1, id: "" }),
  },
} as const satisfies Readonly<Record<ListOrder, object>>;

/**
 * A delivered copy is the evidence that a message has arrived: it stays as long as a delivery of the message that failed. That may
 * be another one than it was made of, which may be gone.
 */
const IS_NO_EVIDENCE = `(d.resend_of IS NULL OR d.state <> 'delivered' OR NOT EXISTS (
  SELECT 1 FROM delivery AS o INDEXED BY delivery_by_message_id
  WHERE o.message_id = d.message_id AND o.destination = d.destination AND o.state IN ('failed', 'expired')))`;

/** Finds a delivery, and lists and counts what matches a filter, without holding up sending for long. */
export class DeliverySearch {
  readonly #db: Database.Database;
  readonly #counter: DeliveryCounter;
  readonly #find: Database.Statement;
  readonly #attempts: Database.Statement;

  constructor(db: Database.Database, counter: DeliveryCounter) {
    this.#db = db;
    this.#counter = counter;
    this.#find = db.prepare(`${SELECT_DELIVERIES} WHERE d.id = ?`);
    this.#attempts = db.prepare(`${SELECT_ATTEMPTS} WHERE delivery = ? ORDER BY seq`);
  }

  find(id: string): Delivery | undefined {
    const row = this.#find.get([id]) as DeliveryRow | undefined;
    if (row === undefined) return undefined;
    // Most deliveries have one attempt, and it is in their row.
    const earlier = row.attempts > 1 ? (this.#attempts.all([row.seq]) as AttemptRow[]) : [];
    return deliveryOf(row, earlier);
  }

  /** The newest first, unless told otherwise. */
  list(filter: DeliveryFilter, order?: ListOrder): Promise<readonly DeliverySummary[]> {
    const db = preparedOnce(this.#db);
    return this.#list(db, filter, this.#plan(db, filter, order));
  }

  /** Those of ended deliveries that may be removed, the newest first. */
  removable(filter: DeliveryFilter): Promise<readonly DeliverySummary[]> {
    const db = preparedOnce(this.#db);
    const plan = this.#plan(db, filter);
    plan.rest.add(IS_NO_EVIDENCE);
    return this.#list(db, filter, plan);
  }

  async #list(db: Preparing, filter: DeliveryFilter, plan: SearchPlan): Promise<readonly DeliverySummary[]> {
    const limit = limitOf(filter);
    const { compare } = ORDERS[plan.order];
    const size = plan.ranges.length > MANY_RANGES ? 1 : Math.min(limit, ROWS_AT_ONCE);
    const readers = plan.ranges.map((range) => new RangeReader(db, range, plan, size));
    const found = new Map<number, SummaryRow>();
    while (found.size < limit) {
      for (const reader of readers) if (reader.isEmpty) await reader.fill();
      const next = readers.reduce<RangeReader | undefined>(
        (best, reader) => nearer(best, reader, compare),
        undefined,
      );
      const row = next?.take();
      if (row === undefined) break;
      // One that ends while the ranges are read in turns is in that of its new state, too.
      found.set(row.seq, row);
    }
    return [...found.values()].map(summaryOf);
  }

  async count(filter: DeliveryFilter): Promise<number> {
    const db = preparedOnce(this.#db);
    const plan = this.#plan(db, { ...filter, after: undefined });
    if (plan.size !== undefined && plan.rest.isEmpty) return plan.size;
    let count = 0;
    for (const range of plan.ranges) count += await new RangeReader(db, range, plan, 0).count();
    return count;
  }

  #plan(db: Preparing, filter: DeliveryFilter, order?: ListOrder): SearchPlan {
    return planSearch(db, filter, this.#counter.kinds(), order);
  }
}

/** Of two readers, the one whose next row comes first. */
function nearer(
  best: RangeReader | undefined,
  reader: RangeReader,
  compare: typeof newestFirst,
): RangeReader | undefined {
  if (reader.next === undefined) return best;
  if (best?.next === undefined) return reader;
  return compare(placeOf(reader.next), placeOf(best.next)) < 0 ? reader : best;
}

function placeOf(row: Pick<SummaryRow, "accepted_at" | "id">): Cursor {
  return { acceptedAt: row.accepted_at, id: row.id };
}

/** Reads a range of an index from its first row on, a stretch at a time. */
class RangeReader {
  readonly #db: Preparing;
  readonly #range: Range;
  readonly #rest: Conditions;
  readonly #order: (typeof ORDERS)[ListOrder];
  readonly #end: number | undefined;
  #from: Cursor;
  #size: number;
  #stretch = FIRST_STRETCH;
  #rows: readonly SummaryRow[] = [];
  #position = 0;
  #isAtEnd = false;
  #hasRead = false;

  constructor(db: Preparing, range: Range, { rest, order, start, end }: SearchPlan, size: number) {
    this.#db = db;
    this.#range = range;
    this.#rest = new Conditions().and(rest).and(range.rest);
    this.#order = ORDERS[order];
    this.#end = end;
    this.#from = start;
    this.#size = size;
  }

  get next(): SummaryRow | undefined {
    return this.#rows[this.#position];
  }

  /** Whether rows have to be read before `next` says anything. */
  get isEmpty(): boolean {
    return this.next === undefined && !this.#isAtEnd;
  }

  take(): SummaryRow | undefined {
    const row = this.next;
    this.#position += 1;
    return row;
  }

  /** Reads the next rows: at first so many, then twice as many as before, and a turn of the event loop later. */
  async fill(): Promise<void> {
    if (this.#hasRead) await nextTurn();
    this.#hasRead = true;
    this.#rows = [];
    this.#position = 0;
    while (!this.#isAtEnd && this.#rows.length === 0) {
      // Where every row matches, as many are read as are wanted.
      const end = this.#rest.isEmpty ? undefined : this.#stretchEnd(STRETCH);
      this.#rows = this.#read(end, this.#size);
      const last = this.#rows.at(-1);
      if (last !== undefined && this.#rows.length === this.#size) this.#from = placeOf(last);
      else this.#advance(end);
      if (this.#rows.length === 0 && !this.#isAtEnd) await nextTurn();
    }
    this.#size = Math.min(this.#size * 2, ROWS_AT_ONCE);
  }

  async count(): Promise<number> {
    let sum = 0;
    while (!this.#isAtEnd) {
      const end = this.#stretchEnd(this.#rest.isEmpty ? COUNTED_STRETCH : STRETCH);
      const { sql, values } = this.#where(end, this.#rest);
      const row = this.#db.prepare(`SELECT count(*) ${sql}`).raw().get(values) as [number];
      sum += row[0];
      this.#advance(end);
      if (!this.#isAtEnd) await nextTurn();
    }
    return sum;
  }

  #read(end: number | undefined, limit: number): SummaryRow[] {
    const { sql, values } = this.#where(end, this.#rest);
    const ordered = `SELECT ${SUMMARY_COLUMNS} ${sql} ORDER BY ${this.#order.sort} LIMIT ?`;
    return this.#db.prepare(ordered).all([...values, limit]) as SummaryRow[];
  }

  /** When the next stretch ends; undefined when it is the last. The index alone says it, so that no row is read. */
  #stretchEnd(most: number): number | undefined {
    const { sql, values } = this.#where();
    const row = this.#db
      .prepare(`SELECT d.accepted_at ${sql} ORDER BY ${this.#order.byTime} LIMIT 1 OFFSET ?`)
      .raw()
      .get([...values, this.#stretch - 1]) as [number] | undefined;
    this.#stretch = Math.min(this.#stretch * 2, most);
    return row?.[0];
  }

  #advance(end: number | undefined): void {
    if (end === undefined) this.#isAtEnd = true;
    else this.#from = this.#order.placeBehind(end);
  }

  #where(
    end: number | undefined = this.#end,
    rest?: Conditions,
  ): { readonly sql: string; readonly values: readonly Bound[] } {
    const { index, conditions } = this.#range;
    const { acceptedAt, id } = this.#from;
    const parts: string[] = [conditions.sql, this.#order.after];
    const values: Bound[] = [...conditions.values, acceptedAt, acceptedAt, id];
    if (end !== undefined) {
      parts.push(this.#order.upTo);
      values.push(end);
    }
    if (rest !== undefined) {
      parts.push(rest.sql);
      values.push(...rest.values);
    }
    return { sql: `FROM delivery AS d INDEXED BY ${index} WHERE ${parts.join(" AND ")}`, values };
  }
}
