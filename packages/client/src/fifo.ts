/** What an item of a {@link Fifo} adds to its sums. */
interface Measured {
  readonly bytes: number;
  readonly memory: number;
}

/** A queue that knows how much it holds, and whose `shift` does not move what stays. */
export class Fifo<Item extends Measured> {
  #items: (Item | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #memory = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The `bytes` of all items. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The `memory` of all items. */
  get memory(): number {
    return this.#memory;
  }

  peek(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#count(item, 1);
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#count(item, -1);
    // Frees the item at once; the slots are reclaimed when most are empty.
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  #count({ bytes, memory }: Item, change: 1 | -1): void {
    this.#bytes += change * bytes;
    this.#memory += change * memory;
  }
}
