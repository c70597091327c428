import { recordCall, writeCall, type CallType } from "@countersign/protocol";
import type { Settings } from "./settings.ts";

/** A call as it will be sent. Nothing the caller does to their objects afterwards can change it. */
export interface SerializedCall {
  readonly type: CallType;
  readonly messageId: string;
  readonly json: string;
}

/**
 * Checks a call by its rules (spec 2.3, 8) and serialises it, once. A call without an id or a time gets its own.
 *
 * @throws ValidationError naming the field at fault.
 */
export function serialize(
  type: CallType,
  call: unknown,
  { ids, clock }: Pick<Settings, "ids" | "clock">,
): SerializedCall {
  const recorded = recordCall(type, call, { messageId: ids, now: () => clock.now() });
  return { type, messageId: recorded.messageId, json: writeCall(recorded) };
}
