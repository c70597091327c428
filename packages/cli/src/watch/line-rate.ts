/** Settings of {@link LineRate}. */
export interface LineRateOptions {
  /** Above this many lines in a second, only what always has a line is shown one by one. */
  readonly limit: number;
  /** Receives, once a second, how many of each kind were not shown. */
  readonly summarise: (counts: ReadonlyMap<string, number>) => void;
}

const SECOND_MS = 1_000;

/** Decides which lines are printed one by one: a terminal cannot show more than a person can read. */
export class LineRate {
  readonly #options: LineRateOptions;
  readonly #left = new Map<string, number>();
  #lines = 0;
  #isOver = false;
  #second: NodeJS.Timeout | undefined;

  constructor(options: LineRateOptions) {
    this.#options = options;
  }

  /** Counts a line that is printed however many there are. */
  always(): void {
    this.#count();
  }

  /** Counts a line, about `count` things of a kind, and tells whether to print it. */
  allows(kind: string, count = 1): boolean {
    this.#count();
    if (!this.#isOver && this.#lines <= this.#options.limit) return true;
    this.#isOver = true;
    this.#left.set(kind, (this.#left.get(kind) ?? 0) + count);
    return false;
  }

  /** Whether lines are being left out. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sums up what was left out so far. */
  close(): void {
    clearTimeout(this.#second);
    this.#second = undefined;
    this.#end();
  }

  #count(): void {
    this.#lines += 1;
    this.#second ??= setTimeout(() => {
      this.#second = undefined;
      this.#end();
    }, SECOND_MS).unref();
  }

  #end(): void {
    if (this.#left.size > 0) this.#options.summarise(new Map(this.#left));
    this.#left.clear();
    this.#isOver = this.#lines > this.#options.limit;
    this.#lines = 0;
  }
}
