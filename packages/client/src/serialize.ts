import { recordCall, writeCall, type CallDefaults, type CallType } from "@countersign/protocol";

/** A call as it will be sent. Nothing the caller does to their objects afterwards can change it. */
export interface SerializedCall {
  readonly type: CallType;
  readonly messageId: string;
  readonly json: string;
}

/**
 * Checks a call by its rules (spec 2.3, 8) and serialises it, once.
 *
 * @throws ValidationError naming the field at fault.
 */
export function serialize(type: CallType, call: unknown, defaults: CallDefaults): SerializedCall {
  const recorded = recordCall(type, call, defaults);
  return { type, messageId: recorded.messageId, json: writeCall(recorded) };
}
