import type { CallType } from "@countersign/protocol";

/** Why the service refused a message for good. */
export type RejectionReason =
  /** 400, for this message alone: what shared its batch was sent without it. */
  | "bad-request"
  /** 413, for this message alone. */
  | "too-large"
  /** 401 or 403: the write key is wrong. */
  | "unauthorized"
  /** 3xx: the endpoint has moved. A redirect is not followed, since it would turn the POST into a GET. */
  | "redirected"
  /** Any other 4xx. */
  | "refused";

/** Why this library gave a message up. */
export type DropReason =
  /** The queue was full, and the policy `whenFull` took this message. */
  | "queue-full"
  /** Every attempt failed until `retry.giveUpAfter` was over. */
  | "retries-exhausted"
  /** The deadline of `close()`, or of the flush at exit, came first. */
  | "deadline"
  /** The call was made after `close()`. */
  | "closed"
  /** The client was created with `disable: true`. */
  | "disabled"
  /** `beforeSend` returned null for this message. */
  | "before-send"
  /** Something injected (`transport`, `clock`, `ids`, `random`, `beforeSend`) broke its contract. */
  | "internal-error";

/** The service answered that it has the message. */
export interface Delivered {
  readonly status: "delivered";
}

/** The service answered that it will not take the message. Sending it again would not help. */
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

/** This library has given the message up. */
export interface Dropped {
  readonly status: "dropped";
  readonly reason: DropReason;
  /** What happened and what to do, for a log. */
  readonly detail: string;
  /**
   * False: the service does not have the message, and it is safe to record it anew. True: an attempt went out and got no
   * clear answer (a reset, a timeout, a 5xx), so it may have it; recording it anew under the same `messageId` is safe.
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
 * What has become of every call so far, since the client was created. The four always add up to the calls that returned
 * a receipt.
 */
export interface Counts {
  /** Taken by the service. */
  readonly delivered: number;
  /** Rejected by the service. */
  readonly failed: number;
  /** Given up by this library. */
  readonly dropped: number;
  /** Not ended yet: queued, on their way, or waiting for a retry. */
  readonly pending: number;
}
