import type { MessageType } from "@countersign/core";
import type { Attempt } from "../delivery/attempt.ts";
import type { DeliveryInfo } from "../delivery/delivery.ts";
import type { SkipReason } from "../delivery/skipped-call.ts";
import type { SenderSettings } from "../settings/settings.ts";
import type { StoreState } from "../store/delivery-store.ts";
import type { FailureStreak } from "./endpoint-recorder.ts";

/** The events of a sender, and what their listeners receive. */
export interface SenderEvents {
  /** A delivery is stored: one of a call, or one that is sent again, with `resendOf`. `attempt` may come first. */
  accepted: { readonly delivery: DeliveryInfo; readonly resendOf?: string | undefined };
  /** An attempt has ended. Its result is not stored yet. */
  attempt: { readonly delivery: DeliveryInfo; readonly attempt: Attempt };
  /** An endpoint accepted the message. Emitted after this is stored; `attempts` are those of the last round. */
  delivered: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /** No endpoint accepted the message in this round, whose attempts these are. Emitted after the next round is stored. */
  retrying: {
    readonly delivery: DeliveryInfo;
    readonly attempts: readonly Attempt[];
    /** When the next round is due, in milliseconds since 1970 by the sender's clock. */
    readonly dueAt: number;
    /** How long that is from now, in milliseconds. */
    readonly delayMs: number;
  };
  /**
   * Every endpoint rejected the message. Emitted after this is stored; `attempts` are those of the last round. There are none if
   * what was left to call has gone from the settings.
   */
  failed: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /**
   * No endpoint accepted the message in time. Emitted after this is stored; `attempts` are those of the last round. There are none
   * if its time was over before that.
   */
  expired: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /** An accepted call goes to no destination. */
  skipped: {
    readonly messageId: string;
    readonly type: MessageType;
    /** Name of the source of the call. */
    readonly source: string;
    /** The event's name, of a track call. */
    readonly event?: string | undefined;
    /** The user of the call: its `userId`, else its `anonymousId`. */
    readonly identity: string;
    /** Why it goes nowhere. */
    readonly reason: SkipReason;
  };
  /**
   * This many attempts at an endpoint failed in a row, for any message (option `failingAfter`). Emitted once,
   * until it has recovered. Rejections of requests that a fault has changed do not count.
   */
  failing: FailureStreak;
  /** An endpoint that was failing has accepted a message. */
  recovered: FailureStreak;
  /**
   * Another process took a delivery over while this one was sending it, because its claim had expired. The
   * results of the attempts are logged, and do not count.
   */
  lost: { readonly delivery: DeliveryInfo; readonly attempts: readonly Attempt[] };
  /** Settings that another process on the store has changed now apply here. */
  settings: { readonly before: SenderSettings; readonly settings: SenderSettings };
  /** The state of the store has changed: see {@link StoreState}. */
  storeState: StoreState;
  /** The store failed while no caller was waiting. Accepted deliveries stay pending and are tried again. */
  storeError: { readonly error: Error };
}
