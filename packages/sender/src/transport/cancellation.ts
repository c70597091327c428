import { Bag, type BagItem } from "@countersign/protocol";

/** Something that a signal can cancel. */
export interface Cancellable extends BagItem {
  cancel(): void;
}

/**
 * What one signal cancels. It listens to the signal once, however many attempts are in progress: of listeners that come
 * and go, each refers to the one that was added after it, so that all attempts that follow one in the heap's old part
 * would stay in memory.
 */
export class Cancellation {
  readonly #signal: AbortSignal;
  readonly #attempts = new Bag<Cancellable>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(attempt: Cancellable): void {
    if (this.#attempts.size === 0) this.#signal.addEventListener("abort", this);
    this.#attempts.add(attempt);
  }

  /** An attempt has ended. */
  delete(attempt: Cancellable): void {
    this.#attempts.delete(attempt);
    if (this.#attempts.size === 0) this.#signal.removeEventListener("abort", this);
  }

  /** The signal was aborted. */
  handleEvent(): void {
    for (const attempt of this.#attempts.items()) attempt.cancel();
  }
}

const cancellations = new WeakMap<AbortSignal, Cancellation>();

/** Has a signal cancel an attempt, until that is deleted from what is returned. */
export function cancelWith(signal: AbortSignal, attempt: Cancellable): Cancellation {
  let cancellation = cancellations.get(signal);
  if (cancellation === undefined) cancellations.set(signal, (cancellation = new Cancellation(signal)));
  cancellation.add(attempt);
  return cancellation;
}
