import { SenderClosedError } from "../sender-closed-error.ts";

interface Waiter {
  readonly wake: () => void;
  readonly fail: (error: Error) => void;
}

/** Knows when nothing is being accepted and nothing is pending. */
export class IdleWatch {
  readonly #countPending: () => Promise<number>;
  #working = 0;
  #waiters: Waiter[] = [];

  /** `countPending` counts the pending deliveries of every destination being served. */
  constructor(countPending: () => Promise<number>) {
    this.#countPending = countPending;
  }

  /** Says that something is being accepted, until the returned function is called. */
  begin(): () => void {
    this.#working += 1;
    return () => {
      this.#working -= 1;
      this.changed();
    };
  }

  /** Says that something may have become idle. */
  changed(): void {
    for (const { wake } of this.#waiters.splice(0)) wake();
  }

  close(): void {
    const error = new SenderClosedError("The sender was closed before it was idle.");
    for (const { fail } of this.#waiters.splice(0)) fail(error);
  }

  /** Resolves when it is idle. */
  async wait(): Promise<void> {
    for (;;) {
      // Registered before counting, or a change between the two would be missed.
      const change = new Promise<void>((wake, fail) => this.#waiters.push({ wake, fail }));
      change.catch(() => {});
      if (this.#working === 0 && (await this.#countPending()) === 0 && this.#working === 0) return;
      await change;
    }
  }
}
