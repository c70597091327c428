import { isObject, type CallRule, type CallType } from "@countersign/protocol";
import { beginningOf } from "./beginning-of.ts";

/** The rules that a message can break on this wire. An unknown field is ignored, and what arrived as JSON is JSON. */
type WireRule = Exclude<CallRule, "unknown_field" | "not_json">;

/** What else can be wrong with a message, or with the request around it. */
type ServerReason =
  | "no_write_key"
  | "unknown_write_key"
  | "no_batch"
  | "missing_type"
  | "unknown_type"
  | "unsafe_integer"
  | "refused_by_sender";

/** The code of a rejection. */
export type RejectionReason = WireRule | ServerReason;

/**
 * Why a message was not forwarded, each with the sentence shown to its sender and in the rejected list.
 * A lenient request is still answered 200; `X-Strict-Mode: 1` turns each into a 400 (401 for the keys).
 */
export const REJECTION_REASONS: Readonly<Record<RejectionReason, string>> = {
  no_write_key:
    "The write key is missing: send it as the user name of Basic authorization, or as `writeKey` in the body.",
  unknown_write_key: "No source has this write key.",
  not_an_object: "The message is not a JSON object.",
  no_batch: "The body has no `batch` array.",
  missing_type: "The message has no `type`: it must be identify, track, page, screen, group or alias.",
  unknown_type: "The `type` is not identify, track, page, screen, group or alias.",
  no_user_anon_id: "The message has neither a `userId` nor an `anonymousId`.",
  missing_user_id: "An alias call needs the new identity in `userId`.",
  missing_previous_id: "An alias call needs the old identity in `previousId`.",
  missing_event: "A track call needs the name of the event in `event`.",
  missing_group_id: "A group call needs the identifier of the group in `groupId`.",
  invalid_field: "A field has a value of the wrong type.",
  invalid_timestamp: "The timestamp is not an ISO 8601 date-time.",
  message_id_too_long: "The `messageId` has 100 characters or more.",
  message_too_large: "The message is larger than 32,768 bytes of JSON.",
  nested_too_deeply: "The message nests objects or arrays more than 500 deep.",
  unsafe_integer:
    "JavaScript does not keep a number: an integer above 2^53, or one above 1.8e308. Send it as a string.",
  refused_by_sender: "The forwarding engine refused the message.",
};

/** The status that strict mode answers. */
export function statusOf(reason: RejectionReason): 400 | 401 {
  return reason === "no_write_key" || reason === "unknown_write_key" ? 401 : 400;
}

/** Something about an accepted message that its maker should know. */
export interface Warning {
  readonly reason: "unsafe_integer";
  readonly detail: string;
  /** Where it is in the message, such as `properties.products.0.id`. At most ten. */
  readonly paths: readonly string[];
  /** The message's place in the batch, from 0. */
  readonly index?: number;
  readonly type: string;
  readonly messageId?: string;
}

/** A message that was received and not accepted. */
export interface Rejection {
  readonly reason: RejectionReason;
  /** What exactly was wrong: the sentence of the reason, or a narrower one that names the field. */
  readonly detail: string;
  /** Its place in the batch, from 0; absent when the whole request was rejected. */
  readonly index?: number;
  readonly type?: string;
  readonly messageId?: string;
  /** The message as it came. */
  readonly message: unknown;
}

/** The facts about a rejected message. */
export interface RejectionFacts {
  /** More exact than the sentence of the reason. */
  readonly detail?: string | undefined;
  /** Its place in the batch. */
  readonly index?: number;
  /** The type that the path gave it. */
  readonly type?: CallType | undefined;
}

/** The rejection of a message, or without `index` of a request as a whole. */
export function rejection(reason: RejectionReason, message: unknown, facts: RejectionFacts = {}): Rejection {
  const fields = isObject(message) ? message : {};
  const type = facts.type ?? fields["type"];
  const messageId = fields["messageId"];
  return {
    reason,
    detail: facts.detail ?? REJECTION_REASONS[reason],
    ...(facts.index !== undefined && { index: facts.index }),
    ...(typeof type === "string" && { type: beginningOf(type, 100) }),
    ...(typeof messageId === "string" && { messageId: beginningOf(messageId, 100) }),
    message,
  };
}
