import { aliasIdentity } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import type { MessageType } from "@countersign/sender";

/** A call as free-form fields; the sender checks them. */
export type SampleCall = Record<string, unknown>;

/**
 * A complete call of a type, with values that look real (spec 2.2).
 *
 * @example
 * ```ts
 * sampleCall("alias"); // { previousId: "...", userId: "..." }
 * ```
 */
export function sampleCall(type: MessageType): SampleCall {
  if (type === "alias") return { ...aliasIdentity(sampleMessages.alias) };
  const sample: object = structuredClone(sampleMessages[type]);
  return Object.fromEntries(
    Object.entries(sample).filter(
      ([field]) => !["version", "type", "messageId", "timestamp"].includes(field),
    ),
  );
}
