/** Counts the connections of a pool that are in use, and tells when one is given back. */
export class InUse {
  #count = 0;
  #told: (() => void)[] = [];

  take(): void {
    this.#count += 1;
  }

  giveBack(): void {
    this.#count -= 1;
    for (const tell of this.#told.splice(0)) tell();
  }

  /** Resolves when one is given back; undefined if none is in use. */
  next(): Promise<void> | undefined {
    return this.#count === 0 ? undefined : new Promise((resolve) => void this.#told.push(resolve));
  }
}
