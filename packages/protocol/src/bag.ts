/** Something that can be in a {@link Bag}, in one at a time. */
export interface BagItem {
  /** Where it is in its bag. The bag writes it; begin with -1. */
  position: number;
}

/**
 * Items in no particular order, such as what is in progress: they come and go thousands of times a second.
 *
 * A `Set` or a `Map` is no good for that: when it makes its table anew, the old table still refers to its items and to the
 * next table. Once the garbage collector has moved an old table to where it seldom looks, that table keeps alive everything
 * that comes after it. A list whose entries refer to each other does the same. A bag refers only to what is in it.
 *
 * @example
 * ```ts
 * const attempts = new Bag();
 * const attempt = { url: "https://example.com/hook", position: -1 };
 * attempts.add(attempt);
 * attempts.delete(attempt);
 * ```
 */
export class Bag<T extends BagItem = BagItem> {
  readonly #items: T[] = [];

  /** How many items are in it. */
  get size(): number {
    return this.#items.length;
  }

  /** Adds an item that is in no bag. */
  add(item: T): void {
    item.position = this.#items.length;
    this.#items.push(item);
  }

  /** Removes an item; the last one takes its place. Does nothing if it is not in this bag. */
  delete(item: T): void {
    const { position } = item;
    if (this.#items[position] !== item) return;
    const last = this.#items.pop();
    if (last !== undefined && last !== item) {
      this.#items[position] = last;
      last.position = position;
    }
    item.position = -1;
  }

  /** The items that are in it now. */
  items(): readonly T[] {
    return [...this.#items];
  }
}
