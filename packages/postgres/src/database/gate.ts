import { StoreError } from "@countersign/sender/store";
import { ANSWER_MS } from "./within.ts";

interface Waiting {
  readonly since: number;
  readonly enter: () => void;
  readonly refuse: (error: StoreError) => void;
}

/**
 * Lets at most so many pass at once; the others wait in order. While nothing succeeds, as when the database hangs, each that passes
 * takes as long as a command may: whoever has waited that long is refused, or the last of many would wait for minutes.
 */
export class Gate {
  #free: number;
  readonly #waiting = new Set<Waiting>();
  #succeededAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(limit: number) {
    this.#free = limit;
  }

  /** @throws StoreError when nothing has succeeded for as long as this has waited, and a command may take no longer */
  async pass<T>(action: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn();
    try {
      const result = await action();
      this.succeeded();
      return result;
    } finally {
      this.#leave();
    }
  }

  /** What has passed gets on: the database answers. */
  succeeded(): void {
    this.#succeededAt = performance.now();
  }

  #turn(): Promise<void> {
    return new Promise((enter, refuse) => {
      this.#waiting.add({ since: performance.now(), enter, refuse });
      this.#timer ??= setTimeout(this.#refuseLate, ANSWER_MS);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    if (this.#waiting.size === 0) this.#stopTimer();
    next.enter();
  }

  readonly #refuseLate = (): void => {
    this.#stopTimer();
    const now = performance.now();
    for (const waiting of this.#waiting) {
      const rest = Math.max(waiting.since, this.#succeededAt) + ANSWER_MS - now;
      if (rest > 0) {
        this.#timer = setTimeout(this.#refuseLate, Math.ceil(rest));
        return;
      }
      this.#waiting.delete(waiting);
      waiting.refuse(new StoreError("ERR_STORE_FAILED", NO_ANSWERS));
    }
  };

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const NO_ANSWERS = `The database does not answer: for ${ANSWER_MS / 1_000} s, nothing that this process has asked for succeeded.`;
