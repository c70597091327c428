import type { SkipReason } from "@countersign/sender";
import type { RejectionReason } from "./rejections.ts";

/** The fix for each reason for which a message was rejected. */
export const REJECTION_FIXES: Readonly<Record<RejectionReason, string>> = {
  no_write_key: "Send it as the user name of Basic authorization, or as `writeKey` in the body.",
  unknown_write_key:
    "Correct the key in the client, or start the server with --to and without --write-key, which accepts any.",
  not_an_object: "Send the object itself.",
  no_batch: "Send the messages in `batch`.",
  missing_type: "Give it one: identify, track, page, screen, group or alias.",
  unknown_type: "Use identify, track, page, screen, group or alias.",
  no_user_anon_id: "Pass one of them. An empty text counts as absent.",
  missing_user_id: "Pass it.",
  missing_previous_id: "Pass it.",
  missing_event: "Pass the name of the event.",
  missing_group_id: "Pass the identifier of the group.",
  invalid_field: "The rejection's `detail` names the field. Correct its value.",
  invalid_timestamp: "Send the time as ISO 8601.",
  message_id_too_long: "Use a shorter id, such as a UUID.",
  message_too_large: "Send less: an id in place of a document.",
  nested_too_deeply: "Send a flatter structure. Such a message is most often a mistake of a program.",
  unsafe_integer: "Send it as a string.",
  refused_by_sender: "The rejection's `detail` says why.",
};

/** The fix for each reason for which an accepted call went to no destination. */
export const SKIP_FIXES: Readonly<Record<SkipReason, string>> = {
  integrations: "Remove the `integrations` of the call, or turn webhooks on in them.",
  blocked_event: "Remove the event from `blockedEvents` to forward it.",
  no_destination: "Add a destination, or enable one.",
};
