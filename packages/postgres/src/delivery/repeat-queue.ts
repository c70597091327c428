import { isUnknown, sqlStateOf } from "../database/postgres-error.ts";
import type { DeliveryChanges, NextDelivery, RepeatedFrom, Repetition } from "../tables/delivery-changes.ts";

/** Stored with one command: so many copies, and bytes of bodies of their own. */
const AT_ONCE = 500;
const BYTES_AT_ONCE = 4_000_000;

interface Waiting extends Repetition {
  readonly resolve: (from: RepeatedFrom | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Group commit of repetitions: each on its own would wait for the disk, and for the others, which count in the same row. */
export class RepeatQueue {
  readonly #changes: DeliveryChanges;
  readonly #writer: () => string;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(changes: DeliveryChanges, writer: () => string) {
    this.#changes = changes;
    this.#writer = writer;
  }

  /** Stores a copy; resolves to what the original is for, undefined when there is no such delivery. */
  add(id: string, next: NextDelivery): Promise<RepeatedFrom | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, next, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      setImmediate(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#store(this.#nextGroup());
    this.#isRunning = false;
  }

  async #store(group: readonly Waiting[]): Promise<void> {
    try {
      const found = await this.#changes.repeat(group, this.#writer());
      group.forEach(({ resolve }, index) => resolve(found[index]));
    } catch (error) {
      // One that cannot be stored must not fail the rest.
      if (group.length > 1 && sqlStateOf(error) !== undefined && !isUnknown(error)) {
        for (const one of group) await this.#store([one]);
      } else {
        for (const { reject } of group) reject(error);
      }
    }
  }

  #nextGroup(): readonly Waiting[] {
    let [count, bytes] = [0, 0];
    for (const { next } of this.#waiting) {
      bytes += next.message?.body.length ?? 0;
      if (count === AT_ONCE || (count > 0 && bytes > BYTES_AT_ONCE)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
