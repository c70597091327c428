/** Holds values back, each under an id, until they are released. What nobody releases in time is given up. */
export class Held<Value> {
  readonly #patienceMs: number;
  readonly #giveUp: (value: Value) => void;
  /** In the order in which they came: those after one have waited less. */
  readonly #held = new Map<string, { readonly since: number; readonly value: Value }>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param patienceMs How long a value is held.
   * @param giveUp Receives a value that was held for so long.
   */
  constructor(patienceMs: number, giveUp: (value: Value) => void) {
    this.#patienceMs = patienceMs;
    this.#giveUp = giveUp;
  }

  get size(): number {
    return this.#held.size;
  }

  get(id: string): Value | undefined {
    return this.#held.get(id)?.value;
  }

  hold(id: string, value: Value): void {
    this.#held.set(id, { since: performance.now(), value });
    this.#timer ??= setTimeout(this.#look, this.#patienceMs).unref();
  }

  /** What is held under an id, which is then held no longer. */
  release(id: string): Value | undefined {
    const value = this.get(id);
    this.#held.delete(id);
    return value;
  }

  /** Releases everything. */
  releaseAll(): readonly Value[] {
    clearTimeout(this.#timer);
    const values = [...this.#held.values()].map(({ value }) => value);
    this.#held.clear();
    return values;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const [id, { since, value }] of this.#held) {
      const rest = this.#patienceMs - (now - since);
      if (rest > 0) {
        this.#timer = setTimeout(this.#look, Math.ceil(rest)).unref();
        return;
      }
      this.#held.delete(id);
      this.#giveUp(value);
    }
  };
}
