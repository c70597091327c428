import type { DestinationSettings, MessageType } from "@countersign/sender";
import type { SampleCall } from "./sample-call.ts";

/** What a destination can include in its messages. */
type Includable = NonNullable<DestinationSettings["includeFields"]>[number];

/** What a message can say of its way here, as those of the service do. No call has it. */
const ARRIVAL_FIELDS: Readonly<Record<Exclude<Includable, "integrations">, true>> = {
  channel: true,
  originalTimestamp: true,
  sentAt: true,
  receivedAt: true,
};

/**
 * The call that a message came from, so that a message from a log or a test can be sent: without `version`, `type` and what says
 * how it arrived, and with the identities of an alias as a call spells them.
 */
export function callOfMessage(type: MessageType, message: Readonly<Record<string, unknown>>): SampleCall {
  const { version: _, type: __, "Previous ID": previousId, "User ID": userId, ...others } = message;
  const fields = Object.fromEntries(
    Object.entries(others).filter(([name]) => !Object.hasOwn(ARRIVAL_FIELDS, name)),
  );
  if (type !== "alias") return fields;
  return {
    ...(previousId !== undefined && { previousId }),
    ...(userId !== undefined && { userId }),
    ...fields,
  };
}
