import { randomBytes } from "node:crypto";
import { iso } from "../shapes/times.ts";

/** The fields of every entry of the log. */
export interface Stamp {
  /** `<run>-<n>`: n counts up by one within a run of the server. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Where a reader continues. */
export interface Start {
  /** The number of the last entry that the reader needs no more. */
  readonly position: number;
  /** Why the reader has missed entries, if it has. */
  readonly reset?: ResetReason | undefined;
}

/** Why a reader must read everything anew: another run of the server, or entries that are no longer kept. */
export type ResetReason = "restarted" | "missed";

const MAX_KEPT = 10_000;
const MAX_KEPT_CHARACTERS = 8 * 1_024 * 1_024;
/** Text of an entry besides what its caller counts: ids, names and times. */
const ENTRY_CHARACTERS = 512;

/**
 * The last entries of a sequence, for readers that each have a position in it. A reader that is slow or was away takes no
 * memory: it finds out, when it reads on, that what it has not read is no longer kept.
 */
export class EventLog<Entry extends object> {
  /** Tells this run of the server from all others. */
  readonly run: string = randomBytes(5).toString("hex");
  readonly #entries: (Kept<Entry> | undefined)[] = [];
  readonly #maxKept: number;
  readonly #listeners = new Set<() => void>();
  #first = 1;
  #last = 0;
  #characters = 0;

  /** @param maxKept How many entries are kept at most. */
  constructor(maxKept: number = MAX_KEPT) {
    this.#maxKept = maxKept;
  }

  /** The number of the newest entry; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** The id of the entry of a number. */
  idOf(position: number): string {
    return `${this.run}-${position}`;
  }

  /**
   * Adds an entry.
   *
   * @param make Makes the entry for its first reader: most have none.
   * @param at When it happened, in milliseconds since 1970.
   * @param characters About how much text it contains.
   */
  add(make: () => Entry, at: number, characters: number): void {
    this.#last += 1;
    const size = characters + ENTRY_CHARACTERS;
    this.#entries[this.#slot(this.#last)] = { make, at, size };
    this.#characters += size;
    while (this.#isFull()) this.#drop();
    for (const listener of this.#listeners) listener();
  }

  /** The entry of a number; undefined when it is no longer kept. */
  at(position: number): (Entry & Stamp) | undefined {
    const kept = this.#kept(position);
    if (!kept) return undefined;
    const entry = kept.entry ?? this.#make(position, kept);
    // For one reader, thousands of entries would be in memory for nothing.
    if (this.#listeners.size > 1) kept.entry = entry;
    return entry;
  }

  /** Whether the entries after a position are all kept. */
  keepsAfter(position: number): boolean {
    return position >= this.#first - 1;
  }

  /**
   * Where a reader continues that has read up to an id.
   *
   * @param after An id; `start` for everything that is kept; undefined for what comes from now on.
   */
  startAfter(after: string | undefined): Start {
    if (after === undefined) return { position: this.#last };
    if (after === "start") return { position: this.#first - 1 };
    const [, run, digits] = /^(\w+)-(\d+)$/.exec(after) ?? [];
    const position = Number(digits);
    if (run !== this.run || !(position <= this.#last)) return { position: this.#last, reset: "restarted" };
    return this.keepsAfter(position) ? { position } : { position: this.#last, reset: "missed" };
  }

  /** Calls `listener` after each new entry. Returns what stops that. */
  onAdded(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #kept(position: number): Kept<Entry> | undefined {
    if (position < this.#first || position > this.#last) return undefined;
    return this.#entries[this.#slot(position)];
  }

  #make(position: number, { at, make }: Kept<Entry>): Entry & Stamp {
    return { id: this.idOf(position), at: iso(at), ...make() };
  }

  #isFull(): boolean {
    if (this.#first === this.#last) return false;
    return this.#last - this.#first >= this.#maxKept || this.#characters > MAX_KEPT_CHARACTERS;
  }

  #drop(): void {
    const slot = this.#slot(this.#first);
    this.#characters -= this.#entries[slot]?.size ?? 0;
    this.#entries[slot] = undefined;
    this.#first += 1;
  }

  #slot(position: number): number {
    return position % (this.#maxKept + 1);
  }
}

interface Kept<Entry> {
  readonly make: () => Entry;
  readonly at: number;
  readonly size: number;
  entry?: (Entry & Stamp) | undefined;
}
