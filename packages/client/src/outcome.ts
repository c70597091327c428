import type { CallType } from "@countersign/protocol";

/** Why the service rejected a message. */
export type RejectionReason =
  /** 400, for this message alone: the rest of its batch was sent without it. */
  | "bad-request"
  /** 413, for this message alone. */
  | "too-large"
  /** 401 or 403: the write key is wrong. */
  | "unauthorized"
  /** 3xx: the endpoint has moved. A redirect is not followed, since it would turn the POST into a GET. */
  | "redirected"
  /** Any other 4xx, or a 2xx with `"success": false` in its body. */
  | "refused";

/** Why this library dropped a message. */
export type DropReason =
  /** The queue was full, and the policy `whenFull` chose this message. */
  | "queue-full"
  /** Every attempt failed until `retry.giveUpAfter` was over. */
  | "retries-exhausted"
  /** The deadline of `close()`, or of the flush at exit, came first. */
  | "deadline"
  /** The process ended at once: by `process.exit()`, an uncaught exception or a second signal. Or the call was made in an `exit` handler. */
  | "exit"
  /** The call was made after `close()`. */
  | "closed"
  /** The client was created with `disable: true`. */
  | "disabled"
  /** `beforeSend` returned null for this message. */
  | "before-send"
  /**
   * An injected part (`clock`, `ids`, `random`, `beforeSend`) failed. A `transport` that fails is an attempt without an answer. A call in
   * which `clock` or `ids` fails throws.
   */
  | "internal-error";

/** The service answered that it has the message. */
export interface Delivered {
  readonly status: "delivered";
}

/** The service answered that it does not accept the message. Sending it again would not help. */
export interface Rejected {
  readonly status: "rejected";
  readonly reason: RejectionReason;
  /** The HTTP status it answered. */
  readonly statusCode: number;
  /** What happened and what to do, for a log. */
  readonly detail: string;
  /** True if an earlier attempt went unanswered, so that the service may have the message nevertheless. */
  readonly mayBeStored: boolean;
}

/** This library has dropped the message. */
export interface Dropped {
  readonly status: "dropped";
  readonly reason: DropReason;
  /** What happened and what to do, for a log. */
  readonly detail: string;
  /**
   * False: the service does not have the message, and it is safe to record it again. True: an attempt was
   * sent and got no clear answer (a reset, a timeout, a 5xx), so the service may have the message; recording
   * it again with the same `messageId` is safe.
   */
  readonly mayBeStored: boolean;
}

/** The outcome of a message that was dropped, before any attempt unless `mayBeStored` is given. */
export function dropped(reason: DropReason, detail: string, mayBeStored = false): Dropped {
  return { status: "dropped", reason, detail, mayBeStored };
}

/** How a call ended. */
export type Outcome = Delivered | Rejected | Dropped;

/** A message that was not delivered, as the hooks `onDrop` and `onReject` get it. */
export interface Undelivered<End extends Rejected | Dropped = Rejected | Dropped> {
  readonly messageId: string;
  readonly type: CallType;
  /** The message as it would have been sent, for writing it somewhere safe. */
  readonly json: string;
  readonly outcome: End;
}

/**
 * The outcomes of all calls since the client was created. The four always add up to the calls that returned
 * a receipt.
 */
export interface Counts {
  /** Accepted by the service. */
  readonly delivered: number;
  /** Rejected by the service. */
  readonly failed: number;
  /** Dropped by this library. */
  readonly dropped: number;
  /** Not ended yet: queued, in flight, or waiting for a retry. */
  readonly pending: number;
}
