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

/** What knows how a message fares: its block, or the reason for which it is in none. */
export interface Fate {
  outcome(number: number): Outcome | undefined;
  accepted(number: number): boolean;
  once(number: number, listener: () => void): void;
}

/** The fate of a message that ended before it was in a block. */
export function endedAs(outcome: Outcome): Fate {
  return { outcome: () => outcome, accepted: () => false, once: () => {} };
}

/**
 * A receipt that asks the block of its message. A block knows only the receipts that somebody awaits, and promises are made
 * only for those: most calls never await theirs.
 */
export class PendingReceipt implements Receipt {
  readonly messageId: string;
  readonly #fate: Fate;
  readonly #number: number;

  constructor(messageId: string, fate: Fate, number: number) {
    this.messageId = messageId;
    this.#fate = fate;
    this.#number = number;
  }

  get outcome(): Outcome | undefined {
    return this.#fate.outcome(this.#number);
  }

  get accepted(): Promise<boolean> {
    return this.#when(() => this.#fate.accepted(this.#number) || (this.outcome ? false : undefined));
  }

  // Being awaitable without being a Promise is the point: nothing can reject, and no linter asks to handle it.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Fulfilled = Outcome, Failed = never>(
    onFulfilled?: ((outcome: Outcome) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Fulfilled | Failed> {
    return this.#when(() => this.outcome).then(onFulfilled, onRejected);
  }

  /** Resolves with what is read, as soon as there is something. */
  #when<Value>(read: () => Value | undefined): Promise<Value> {
    return new Promise((resolve) => {
      const look = (): void => {
        const value = read();
        if (value === undefined) this.#fate.once(this.#number, look);
        else resolve(value);
      };
      look();
    });
  }
}
