import type { MessageType } from "@countersign/core";
import { CALL_TYPES } from "@countersign/protocol";
import type { Attempt, AttemptSummary } from "./attempt.ts";

/**
 * The state of a delivery.
 *
 * | state | meaning |
 * |---|---|
 * | `pending` | waiting for its next round, or in it |
 * | `delivered` | one endpoint answered 2xx |
 * | `failed` | every endpoint rejected it |
 * | `expired` | no endpoint accepted it within the retry window of four hours |
 */
export type DeliveryState = "pending" | "delivered" | "failed" | "expired";

/** A state that a delivery does not leave. */
export type EndState = Exclude<DeliveryState, "pending">;

/** Every state that a delivery does not leave. */
export const END_STATES: readonly EndState[] = ["delivered", "failed", "expired"];

/** Every state of a delivery. */
export const DELIVERY_STATES: readonly DeliveryState[] = ["pending", ...END_STATES];

/** The type of every message that can be delivered. */
export const MESSAGE_TYPES: readonly MessageType[] = [...CALL_TYPES, "delete"];

/** The identity of a delivery: one message on its way to one destination. */
export interface DeliveryInfo {
  /** Unique in its store. */
  readonly id: string;
  /** `messageId` of the message. A delete message has one here only; it is not sent. */
  readonly messageId: string;
  /** `type` of the message. */
  readonly type: MessageType;
  /** Name of the source of the call. */
  readonly source: string;
  /** `<source>/<destination>`. */
  readonly destination: string;
  /** The user of the message: its `userId`, else its `anonymousId`. */
  readonly identity: string;
  /** The event's name, of a track message. */
  readonly event?: string | undefined;
  /** When it was accepted, in milliseconds since 1970. The retry window counts from here. */
  readonly acceptedAt: number;
}

/** A delivery with its state and every attempt so far. */
export interface Delivery extends DeliveryInfo {
  /** Its state. */
  readonly state: DeliveryState;
  /** When the next round is due, while it is pending, in milliseconds since 1970. */
  readonly dueAt?: number | undefined;
  /** When it ended, in milliseconds since 1970. */
  readonly endedAt?: number | undefined;
  /** The exact bytes sent on every attempt. */
  readonly body: Uint8Array;
  /** Every attempt, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Id of the delivery that it repeats. */
  readonly resendOf?: string | undefined;
}

/** A delivery in a list: its state and its last attempt, without the bytes that were sent and received. */
export interface DeliverySummary extends DeliveryInfo {
  /** Its state. */
  readonly state: DeliveryState;
  /** When the next round is due, while it is pending, in milliseconds since 1970. */
  readonly dueAt?: number | undefined;
  /** When it ended, in milliseconds since 1970. */
  readonly endedAt?: number | undefined;
  /** How many attempts were made. */
  readonly attempts: number;
  /** The last of them, while it is kept. */
  readonly last?: AttemptSummary | undefined;
  /** Id of the delivery that it repeats. */
  readonly resendOf?: string | undefined;
}

/** The progress of one endpoint of a delivery that is still pending. */
export interface EndpointProgress {
  /** It rejected the message. */
  readonly rejected?: true | undefined;
  /** It asked not to be called before this time (Retry-After), in milliseconds since 1970. */
  readonly notBefore?: number | undefined;
}

/** The progress of each endpoint, by URL. */
export type DeliveryProgress = Readonly<Record<string, EndpointProgress>>;

/** A delivery whose next round is due. */
export interface DueDelivery {
  readonly delivery: DeliveryInfo;
  /** Rounds that have ended so far. */
  readonly rounds: number;
  /** When this round fell due, in milliseconds since 1970. */
  readonly dueAt: number;
  /** What earlier rounds have shown of the endpoints. */
  readonly progress: DeliveryProgress;
  /** The exact bytes to send. */
  readonly body: Uint8Array;
}

/**
 * The engine's answer to a due delivery: it has ended, or it is due again. Times are in milliseconds since 1970; the attempts are
 * those of the round.
 */
export type Settlement =
  | { readonly state: EndState; readonly endedAt: number; readonly attempts: readonly Attempt[] }
  | {
      readonly state: "pending";
      readonly dueAt: number;
      readonly rounds: number;
      readonly progress: DeliveryProgress;
      readonly attempts: readonly Attempt[];
    };
