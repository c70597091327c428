import { newestFirst, type Cursor } from "@countersign/sender/store";
import { applyEvent, newRow, type Row } from "../shapes/row.ts";
import type { Count, LiveEvent } from "../shapes/types.ts";
import { messageOf } from "./api.ts";
import { changes, matchesInfo, matchesRow, readFilter, type Filter } from "./filter.ts";
import { PAGE, PAGES_AT_ONCE, readCounts, readFirst, readPage, type Counts } from "./pages.ts";
import { RowStore } from "./row-store.ts";
import { inTurn, withPauses } from "../signals/with-pauses.ts";
import { batch, signal } from "../signals/signals.ts";

const FIRST_PAGE = 200;
/** With a filter on what attempts change, the newest rows are asked for again this often. */
const REFRESH_MS = 1_000;
const MAX_WAITING = 100_000;
/**
 * The list is drawn ten times a second at most, and twice while thousands of events come in a second: then nobody can read
 * a row, and the machine that draws may be the one that delivers.
 */
const LEAST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 500;

/** How the list stands. */
export type ListState =
  | { readonly kind: "loading" }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly message: string };

/** A delivery that an event told of. */
interface Told {
  /** The id of the event. */
  readonly event: string;
  readonly matches: boolean;
}

/** The deliveries that match the filter: read page by page, and kept current by the events. */
export class DeliveryList {
  readonly rows: RowStore;
  /** Changes whenever the rows have changed. */
  readonly version = signal(0);
  readonly state = signal<ListState>({ kind: "loading" });
  /** New rows that wait until nothing is looked at. */
  readonly waiting = signal(0);
  /** How many deliveries match, and how many there are, as far as is known. */
  readonly total = signal<number | undefined>(undefined);
  readonly all = signal<number | undefined>(undefined);
  readonly loadingMore = signal(false);
  #filter: Filter = readFilter(new URLSearchParams());
  #held = false;
  #arrived = new Map<string, Row>();
  /** More waited than is kept, or it has rows that the server no longer has: then the list is read anew. */
  #outdated = false;
  #unmatched = new Set<string>();
  #next: string | undefined;
  #load = 0;
  /** Events that arrive while the first page is read. */
  #early: LiveEvent[] | undefined;
  /** Events since the list was drawn last. */
  #undrawn = 0;
  /** What `total` and `all` will be when they are drawn next. */
  #counts: Counts = { total: undefined, all: undefined };
  /** How often it is being asked how many there are, and what was accepted meanwhile: the answer may not have it. */
  #asking = 0;
  #meanwhile: Told[] = [];

  constructor(capacity?: number) {
    this.rows = new RowStore(capacity);
  }

  get filter(): Filter {
    return this.#filter;
  }

  /** A row of the list, or one that waits for it. */
  find(id: string): Row | undefined {
    return this.rows.find(id) ?? this.#arrived.get(id);
  }

  /**
   * Reads the list from its beginning.
   *
   * @param atLeast How many rows at least, where there are so many.
   */
  async load(filter: Filter, atLeast = FIRST_PAGE): Promise<void> {
    const load = (this.#load += 1);
    const isOther = JSON.stringify(filter) !== JSON.stringify(this.#filter);
    this.#filter = filter;
    this.#early ??= [];
    if (isOther || this.state.value.kind === "failed") {
      this.state.value = { kind: "loading" };
      // At once: it is that of the filter before.
      this.#counts.total = this.total.value = undefined;
    }
    try {
      const { rows, next } = await readFirst(
        filter,
        Math.max(atLeast, FIRST_PAGE),
        () => load !== this.#load,
      );
      if (load !== this.#load) return;
      this.rows.clear();
      this.#arrived.clear();
      this.#unmatched.clear();
      this.rows.append(rows);
      this.#next = next;
      this.rows.complete = next === undefined;
      this.state.value = { kind: "ready" };
      const early = this.#early ?? [];
      this.#early = undefined;
      this.#apply(early);
      this.#changed();
      await this.count();
    } catch (error) {
      if (load !== this.#load) return;
      this.#early = undefined;
      this.state.value = { kind: "failed", message: messageOf(error) };
    }
  }

  /** Reads the next page of older rows. */
  async more(): Promise<void> {
    if (this.#next === undefined || this.state.value.kind !== "ready") return;
    await this.#readMore(async (load) => {
      for (let pages = 0; pages < PAGES_AT_ONCE; pages += 1) {
        const page = await readPage(this.#filter, { limit: PAGE, after: this.#next });
        if (load !== this.#load) return;
        this.rows.append(page.rows);
        this.#next = page.next;
        this.rows.complete = page.next === undefined;
        this.#changed();
        if (page.rows.length > 0 || page.next === undefined) return;
      }
    });
  }

  /** Reads rows again that have left memory and come into view. */
  async look(from: number, to: number): Promise<void> {
    this.rows.trim(from);
    const gap = this.rows.gap(from, to);
    if (!gap) return;
    const filter = this.#filter;
    await this.#readMore(async (load) => {
      const rows: Row[] = [];
      let { after } = gap;
      let end: Cursor | undefined;
      do {
        const page = await readPage(filter, { limit: PAGE, after });
        if (load !== this.#load) return;
        rows.push(...page.rows);
        ({ next: after, end } = page);
      } while (after !== undefined && end && newestFirst(end, gap.oldest) < 0);
      this.rows.fill(gap, rows);
      this.rows.trim(from);
      this.#changed();
    });
  }

  /** Reads rows besides those that are there; one such reading at a time. */
  async #readMore(read: (load: number) => Promise<void>): Promise<void> {
    if (this.loadingMore.value) return;
    this.loadingMore.value = true;
    const load = this.#load;
    try {
      await read(load);
    } catch (error) {
      if (load === this.#load) this.state.value = { kind: "failed", message: messageOf(error) };
    } finally {
      this.loadingMore.value = false;
    }
  }

  /** While held, nothing in the list changes its place: new rows wait. */
  hold(held: boolean): void {
    this.#held = held;
    if (!held && (this.#outdated || this.#arrived.size + this.#unmatched.size > 0)) this.#changed();
  }

  /** Has the list read anew as soon as nothing is looked at: it has rows that are no longer kept. */
  outdate(): void {
    this.#outdated = true;
    this.#changed();
  }

  /** Shows the rows that wait, though it is held. */
  release(): void {
    this.#place();
    this.#changed();
  }

  /** Gives the rows that wait their place, and lets those go that no longer match. */
  #place(): void {
    if (this.#outdated) {
      this.#outdated = false;
      void this.load(this.#filter);
      return;
    }
    if (this.#arrived.size === 0 && this.#unmatched.size === 0) return;
    for (const row of this.#arrived.values()) this.rows.add(row);
    this.#arrived.clear();
    // Looks at every row, so only where there is one to remove.
    if (this.#unmatched.size > 0) this.rows.remove((row) => this.#unmatched.has(row.id));
    this.#unmatched.clear();
    this.rows.trim(0);
  }

  /** Takes over what happened. */
  receive(events: readonly LiveEvent[]): void {
    if (this.#early) {
      this.#early.push(...events);
      return;
    }
    this.#apply(events);
    this.#undrawn += events.length;
    this.#changed();
  }

  /**
   * Asks how many there are: events tell of those that come, not of those that are no longer kept.
   *
   * @param follows Whether the list follows where it has more rows than that.
   * @returns The last event that is counted, where it is known.
   */
  async count(follows = false): Promise<string | undefined> {
    const load = this.#load;
    const { length } = this.rows;
    this.#asking += 1;
    try {
      const counts = await readCounts(this.#filter);
      if (load !== this.#load) return undefined;
      this.#counts = counts;
      for (const told of this.#meanwhile) this.#add(told);
      this.#changed();
      if (follows && (counts.total?.count ?? length) < length) this.outdate();
      return counts.all?.lastEvent;
    } catch {
      // It is asked again.
      return undefined;
    } finally {
      this.#asking -= 1;
      if (this.#asking === 0) this.#meanwhile = [];
    }
  }

  /** Counts what an event has told of, unless the server has. */
  #add({ event, matches }: Told): void {
    const { total, all } = this.#counts;
    if (isAfter(event, all)) all.count += 1;
    if (matches && isAfter(event, total)) total.count += 1;
  }

  /**
   * Has the list drawn. Rows get their place then, not before: a press of a button draws what has its place already, and would move
   * what is under the pointer.
   */
  readonly #changed = withPauses(() => {
    if (!this.#held) this.#place();
    batch(() => {
      this.waiting.value = this.#arrived.size;
      this.total.value = this.#counts.total?.count;
      this.all.value = this.#counts.all?.count;
      this.version.value += 1;
    });
    // A millisecond for each event that was taken over.
    const pauseMs = Math.min(Math.max(LEAST_PAUSE_MS, this.#undrawn), MOST_PAUSE_MS);
    this.#undrawn = 0;
    return pauseMs;
  });

  #apply(events: readonly LiveEvent[]): void {
    const changing = changes(this.#filter);
    let refresh = false;
    for (const event of events) {
      if (!("delivery" in event)) continue;
      const row = this.find(event.delivery.id);
      if (event.event === "accepted") {
        const matches = !changing && matchesInfo(this.#filter, event.delivery);
        const told = { event: event.id, matches };
        this.#add(told);
        if (this.#asking > 0) this.#meanwhile.push(told);
        if (changing) refresh = true;
        else if (!row && matches) this.#arrive(newRow(event.delivery));
        continue;
      }
      if (row) applyEvent(row, event);
      if (!changing) continue;
      refresh = true;
      if (row) this.#unmatched[matchesRow(this.#filter, row) ? "delete" : "add"](row.id);
    }
    if (refresh) this.#refresh();
  }

  #arrive(row: Row): void {
    if (this.#arrived.size >= MAX_WAITING) this.#outdated = true;
    else this.#arrived.set(row.id, row);
  }

  /** What matches now can have been accepted long ago: the server knows. */
  readonly #refresh = inTurn(async () => {
    const load = this.#load;
    const { rows } = await readPage(this.#filter, { limit: FIRST_PAGE });
    if (load !== this.#load) return;
    for (const row of rows) {
      if (this.rows.find(row.id)) this.rows.add(row);
      else this.#arrived.set(row.id, row);
      this.#unmatched.delete(row.id);
    }
    this.#changed();
    await this.count();
  }, REFRESH_MS);
}

/** Whether an event came after what was counted. Its number follows the run of the server. */
function isAfter(event: string, counted: Count | undefined): counted is Count {
  return counted !== undefined && numberOf(event) > numberOf(counted.lastEvent);
}

function numberOf(event: string): number {
  return Number(event.split("-")[1]);
}
