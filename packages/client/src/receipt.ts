import type { Outcome } from "./outcome.ts";

/**
 * What a call returns: `await` it for how the call ended. It always resolves and never rejects, so leaving it alone is
 * fine and can crash nothing.
 *
 * @example
 * ```ts
 * const receipt = analytics.track({ userId: "u1", event: "Signed Up" });
 * await analytics.flush();
 * const outcome = await receipt;
 * if (outcome.status !== "delivered") console.warn(outcome.reason, outcome.detail);
 * ```
 */
export interface Receipt extends PromiseLike<Outcome> {
  /** The id under which the service knows the message. */
  readonly messageId: string;
  /** How the call ended, or `undefined` while it has not. */
  readonly outcome: Outcome | undefined;
  /**
   * Resolves once the queue has taken the message (`true`) or refused it (`false`). Under `whenFull: 'wait'` this is what
   * a caller awaits in order not to be faster than the service; under the other policies it is settled at once.
   */
  readonly accepted: Promise<boolean>;
}

type Listener<Value> = (value: Value) => void;

/** A receipt that can be settled. Promises are made only for those who ask: most calls never await their receipt. */
export class PendingReceipt implements Receipt {
  readonly messageId: string;
  #outcome: Outcome | undefined;
  #accepted: boolean | undefined;
  #onOutcome: Listener<Outcome>[] | undefined;
  #onAccepted: Listener<boolean>[] | undefined;

  constructor(messageId: string) {
    this.messageId = messageId;
  }

  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  get accepted(): Promise<boolean> {
    if (this.#accepted !== undefined) return Promise.resolve(this.#accepted);
    return new Promise((resolve) => (this.#onAccepted ??= []).push(resolve));
  }

  // Being awaitable without being a Promise is the point: nothing can reject, and no linter asks to handle it.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Fulfilled = Outcome, Failed = never>(
    onFulfilled?: ((outcome: Outcome) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Fulfilled | Failed> {
    const settled =
      this.#outcome === undefined
        ? new Promise<Outcome>((resolve) => (this.#onOutcome ??= []).push(resolve))
        : Promise.resolve(this.#outcome);
    return settled.then(onFulfilled, onRejected);
  }

  accept(accepted: boolean): void {
    this.#accepted ??= accepted;
    for (const listener of this.#onAccepted ?? []) listener(this.#accepted);
    this.#onAccepted = undefined;
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome;
    this.accept(false);
    for (const listener of this.#onOutcome ?? []) listener(outcome);
    this.#onOutcome = undefined;
  }
}
