import { NotInTimeError } from "./postgres-error.ts";
import { ANSWER_MS } from "./within.ts";

interface Waiting {
  readonly since: number;
  readonly enter: () => void;
  readonly refuse: (error: NotInTimeError) => void;
}

/**
 * Lets at most so many pass at once; the others wait in order. While nothing succeeds, as when the database hangs, each that passes
 * takes as long as a command may: whoever has waited that long is refused, or the last of many would wait for minutes. Who passes
 * late has only the rest of that time.
 */
export class Gate {
  readonly #limit: number;
  #free: number;
  readonly #waiting = new Set<Waiting>();
  #succeededAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looksAt = Number.POSITIVE_INFINITY;
  /** They wait until nothing passes any more. */
  #quiet: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
    this.#free = limit;
  }

  /**
   * @param action Gets the time until which it may take, by `performance.now()`.
   * @param since When its caller began to wait.
   * @throws NotInTimeError when nothing has succeeded for as long as this has waited, and a command may take no longer
   */
  async pass<T>(action: (until: number) => Promise<T>, since: number = performance.now()): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(since);
    try {
      const until = this.#untilOf(since);
      if (until <= performance.now()) throw new NotInTimeError(NO_ANSWERS);
      const result = await action(until);
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

  /** Whether nothing passes, or waits to. */
  get isQuiet(): boolean {
    return this.#free === this.#limit;
  }

  /** Resolves when nothing passes, or waits to. */
  quiet(): Promise<void> {
    return this.isQuiet ? Promise.resolve() : new Promise((resolve) => void this.#quiet.push(resolve));
  }

  #turn(since: number): Promise<void> {
    return new Promise((enter, refuse) => {
      this.#waiting.add({ since, enter, refuse });
      const until = this.#untilOf(since);
      if (until < this.#looksAt) this.#lookAt(until);
    });
  }

  /** Until when something that waits since then may take, as long as nothing else succeeds. */
  #untilOf(since: number): number {
    return Math.max(since, this.#succeededAt) + ANSWER_MS;
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      if (this.isQuiet) for (const told of this.#quiet.splice(0)) told();
      return;
    }
    this.#waiting.delete(next);
    if (this.#waiting.size === 0) this.#stopTimer();
    next.enter();
  }

  /** Refuses what has waited for too long, and looks again when the next one may have. */
  readonly #look = (): void => {
    this.#stopTimer();
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const until = this.#untilOf(waiting.since);
      if (until > now) {
        next = Math.min(next, until);
        continue;
      }
      this.#waiting.delete(waiting);
      waiting.refuse(new NotInTimeError(NO_ANSWERS));
    }
    if (this.#waiting.size > 0) this.#lookAt(next);
  };

  #lookAt(time: number): void {
    this.#stopTimer();
    this.#looksAt = time;
    this.#timer = setTimeout(this.#look, Math.max(Math.ceil(time - performance.now()), 0));
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#looksAt = Number.POSITIVE_INFINITY;
  }
}

const NO_ANSWERS =
  `The database does not answer: for ${ANSWER_MS / 1_000} s, nothing that this process has asked for succeeded. ` +
  "See that it runs and what it waits for, and try again.";
