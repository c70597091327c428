import type { Duration } from "@countersign/protocol";
import type { MessageOfType, WebhookMessage, MessageType } from "@countersign/core";
import type { Attempt, AttemptOutcome } from "../delivery/attempt.ts";
import type { Delivery } from "../delivery/delivery.ts";

/** The result of a call or a sync: selects its deliveries, and no others. */
export interface ReceiptLike {
  readonly deliveries: readonly string[];
  readonly settled: () => Promise<unknown>;
  /** Why there are none, when there are none. */
  readonly skipped?: string | undefined;
}

/**
 * Fields that a message must have; others do not matter. Objects are compared in depth by the same rule, lists
 * element by element, text by a regular expression where one is given. Matchers of Vitest and Jest, such as
 * `expect.any(String)`, work in any place.
 */
export type MessagePattern<T extends MessageType = MessageType> = {
  readonly type?: T;
  readonly [field: string]: unknown;
};

/** Selects messages: those of a receipt, those with given fields, or those that a function accepts. */
export type Searched<T extends MessageType = MessageType> =
  | ReceiptLike
  | MessagePattern<T>
  | ((message: WebhookMessage) => boolean);

/** Selects messages, or is a list of receipts, as `deleteUser()` resolves to. */
export type Expected<T extends MessageType = MessageType> = Searched<T> | readonly ReceiptLike[];

/** One attempt in an expected list: its status, its outcome, or any of its fields. */
export type ExpectedAttempt =
  | number
  | AttemptOutcome
  | Partial<Pick<Attempt, "round" | "endpoint" | "outcome" | "status" | "code" | "fault">>;

/** Options of `sender.expect()`. */
export interface ExpectOptions {
  /**
   * How long to wait, in physical time even with a virtual clock. If you set a longer one, give the test a longer time, too.
   * Default: `"4s"`, less than a test has in Vitest and Jest (5 s), so that this failure is shown instead of the
   * framework's.
   */
  readonly within?: Duration | undefined;
  /** `<source>/<destination>`: selects only deliveries to this one. */
  readonly destination?: string | undefined;
}

/** A delivery that was expected, with its message. */
export interface ExpectedDelivery<T extends MessageType = MessageType> extends Delivery {
  /** `undefined` if it was resent with a body that is not a JSON object. Only its receipt finds such a delivery. */
  readonly message: MessageOfType<T>;
}

/**
 * Conditions to wait for. Each resolves as soon as one of the selected deliveries fulfils it, and rejects
 * with an {@link ExpectationError} when none does in time, or none can any more.
 */
export interface Expectation<T extends MessageType = MessageType> {
  /** Waits until the message is stored for delivery. */
  message(): Promise<MessageOfType<T>>;
  /**
   * Waits for attempts: for a number of them, or for the attempts of a list, in its order, from the first on.
   *
   * @example
   * ```ts
   * const sender = await createTestSender({ target: app });
   * const receipt = await sender.track({ userId: "u1", event: "Order Completed" });
   * await sender.expect(receipt).attempts([503, "timeout", 200]);
   * ```
   */
  attempts(expected: number | readonly ExpectedAttempt[]): Promise<readonly Attempt[]>;
  /** Waits until an endpoint has accepted it. */
  delivered(): Promise<ExpectedDelivery<T>>;
  /** Waits until every endpoint has rejected it. */
  failed(): Promise<ExpectedDelivery<T>>;
  /** Waits until its retry window has passed. */
  expired(): Promise<ExpectedDelivery<T>>;
  /** Waits until it has ended, in any state. */
  ended(): Promise<ExpectedDelivery<T>>;
}

/**
 * Says what a test waits for. Depends on no test framework: a failure is a rejected promise, whose text says what
 * happened instead.
 *
 * An expectation does not move a virtual clock: call `clock.advance()`, before or while it waits.
 *
 * @param what Selects messages; without it, any message.
 * @throws TypeError when `what` or an option is of another kind.
 * @example
 * ```ts
 * const sender = await createTestSender({ target: app });
 * await sender.track({ userId: "u1", event: "Order Completed", properties: { total: 12 } });
 * const { message } = await sender.expect({ type: "track", event: "Order Completed" }).delivered();
 * ```
 */
export type Expect = <T extends MessageType = MessageType>(
  what?: Expected<T>,
  options?: ExpectOptions,
) => Expectation<T>;

/** Whether certain deliveries are meant, to which none will be added. */
export function isReceipt(what: Searched): what is ReceiptLike {
  return (
    typeof what === "object" && Array.isArray(what["deliveries"]) && typeof what["settled"] === "function"
  );
}

/** Several receipts as one. */
export function joinReceipts(receipts: readonly ReceiptLike[]): ReceiptLike {
  return {
    deliveries: receipts.flatMap(({ deliveries }) => deliveries),
    settled: () => Promise.all(receipts.map((receipt) => receipt.settled())),
    skipped: receipts.find(({ skipped }) => skipped !== undefined)?.skipped,
  };
}

/** An expectation was not met in time. The message says what happened instead. */
export class ExpectationError extends Error {
  override readonly name = "ExpectationError";
  readonly code = "ERR_EXPECTATION";
  // Private, so that what prints errors with their fields does not bury the message under bodies.
  readonly #deliveries: readonly Delivery[];

  constructor(message: string, deliveries: readonly Delivery[]) {
    super(message);
    this.#deliveries = deliveries;
  }

  /** The selected deliveries, in their state at the end. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }
}
