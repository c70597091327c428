import type { MessageType } from "@countersign/core";
import type { OneOrMore } from "./delivery-filter.ts";

/**
 * Why a message goes to no destination.
 *
 * | reason | meaning |
 * |---|---|
 * | `integrations` | the call's `integrations` turn the destination `Webhooks` off |
 * | `blocked_event` | the source blocks track events of this name |
 * | `no_destination` | the source has no enabled destination |
 */
export type SkipReason = "integrations" | "blocked_event" | "no_destination";

/** Every reason for which a message goes to no destination. */
export const SKIP_REASONS: readonly SkipReason[] = ["integrations", "blocked_event", "no_destination"];

/** An accepted call that went to no destination. */
export interface SkippedCall {
  /** Unique in its store. */
  readonly id: string;
  /** `messageId` that its message would have had. */
  readonly messageId: string;
  /** Its type. */
  readonly type: MessageType;
  /** Name of its source. */
  readonly source: string;
  /** The user of the call: its `userId`, else its `anonymousId`. */
  readonly identity: string;
  /** The event's name, of a track call. */
  readonly event?: string | undefined;
  /** When it was accepted, in milliseconds since 1970. */
  readonly acceptedAt: number;
  /** Why it went nowhere. */
  readonly reason: SkipReason;
}

/** Selects skipped calls. Every given field must match; of a list, any item. */
export interface SkippedFilter {
  /** Name of the source. */
  readonly source?: OneOrMore<string> | undefined;
  /** Why the call went nowhere. */
  readonly reason?: OneOrMore<SkipReason> | undefined;
  /** Searches: it is the call's `messageId` or identity, or the event's name starts with it. */
  readonly q?: string | undefined;
  /** Accepted at this time or later, in milliseconds since 1970. */
  readonly since?: number | undefined;
  /** Accepted before this time, in milliseconds since 1970. */
  readonly until?: number | undefined;
  /** How many, 1 to 1,000. Default: 100. */
  readonly limit?: number | undefined;
  /** Cursor of the last call of a page: the page after it. */
  readonly after?: string | undefined;
}
