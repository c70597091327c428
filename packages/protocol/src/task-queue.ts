import type { ScheduledTask } from "./clock.ts";

interface Entry {
  readonly at: number;
  readonly run: () => void;
}

/**
 * Tasks in the order of their time, equal times in the order they were scheduled.
 *
 * A sorted array is enough: a sender schedules one task for each destination, a client one for each request in flight.
 */
export class TaskQueue {
  readonly #entries: Entry[] = [];

  /** How many tasks are waiting. */
  get size(): number {
    return this.#entries.length;
  }

  /** When the first task is due; `undefined` if there is none. */
  get nextAt(): number | undefined {
    return this.#entries[0]?.at;
  }

  /** Adds a task. */
  add(at: number, run: () => void): ScheduledTask {
    const entry: Entry = { at, run };
    const position = this.#entries.findLastIndex((other) => other.at <= at) + 1;
    this.#entries.splice(position, 0, entry);
    return { cancel: () => this.#remove(entry) };
  }

  /** Runs every task that is due at `now` or before, and those that they add for `now` or before. */
  runDue(now: number): void {
    for (let first = this.#entries[0]; first !== undefined && first.at <= now; first = this.#entries[0]) {
      this.#entries.shift();
      first.run();
    }
  }

  #remove(entry: Entry): void {
    const position = this.#entries.indexOf(entry);
    if (position !== -1) this.#entries.splice(position, 1);
  }
}
