import type { MessageBlock } from "./message-block.ts";
import type { Outcome } from "./outcome.ts";

/**
 * The result of a call: `await` it to learn how the call ended. It always resolves and never rejects, so you
 * may ignore it.
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
   * Resolves once the queue has accepted the message (`true`) or refused it (`false`). With
   * `whenFull: 'wait'`, await it to record no faster than the service accepts; with the other policies it
   * resolves at once.
   */
  readonly accepted: Promise<boolean>;
}

type Listener<Value> = (value: Value) => void;

interface Listeners {
  readonly accepted: Listener<boolean>[];
  readonly outcome: Listener<Outcome>[];
}

/**
 * A receipt that asks the block of its message. A block knows only the receipts that somebody awaits, and promises are made
 * only for those: most calls never await theirs.
 */
export class PendingReceipt implements Receipt {
  readonly messageId: string;
  #block: MessageBlock | undefined;
  #number = 0;
  #outcome: Outcome | undefined;
  #listeners: Listeners | undefined;

  constructor(messageId: string) {
    this.messageId = messageId;
  }

  get outcome(): Outcome | undefined {
    return this.#outcome ?? this.#block?.outcomeOf(this.#number);
  }

  get accepted(): Promise<boolean> {
    if (this.#block?.hasAccepted(this.#number)) return Promise.resolve(true);
    if (this.outcome) return Promise.resolve(false);
    return new Promise((resolve) => this.#listen().accepted.push(resolve));
  }

  // Being awaitable without being a Promise is the point: nothing can reject, and no linter asks to handle it.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Fulfilled = Outcome, Failed = never>(
    onFulfilled?: ((outcome: Outcome) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Fulfilled | Failed> {
    const { outcome } = this;
    const settled = outcome
      ? Promise.resolve(outcome)
      : new Promise<Outcome>((resolve) => this.#listen().outcome.push(resolve));
    return settled.then(onFulfilled, onRejected);
  }

  /** Says where its message is. */
  place(block: MessageBlock, number: number): void {
    this.#block = block;
    this.#number = number;
  }

  accept(accepted: boolean): void {
    for (const listener of this.#listeners?.accepted.splice(0) ?? []) listener(accepted);
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome;
    this.accept(false);
    for (const listener of this.#listeners?.outcome.splice(0) ?? []) listener(outcome);
  }

  #listen(): Listeners {
    this.#block?.await(this.#number, this);
    return (this.#listeners ??= { accepted: [], outcome: [] });
  }
}
