import {
  type CallDefaults,
  CallIssue,
  type Calls,
  type CallType,
  recordCall,
  type RecordedCall,
  serializeCall,
} from "@countersign/protocol";
import { callErrorOf } from "./call-error.ts";

/**
 * Checks a call of a program and fills in its id and time. What is filled in does not count towards its size.
 *
 * @throws CallError naming the field at fault
 */
export function record<T extends CallType>(type: T, call: Calls[T], defaults: CallDefaults): RecordedCall {
  try {
    const recorded = recordCall(type, call, defaults);
    assertFits(recorded, call);
    return recorded;
  } catch (error) {
    throw callErrorOf(error);
  }
}

function assertFits(recorded: RecordedCall, { messageId, timestamp }: Calls[CallType]): void {
  try {
    serializeCall(recorded);
  } catch (error) {
    if (!(error instanceof CallIssue) || error.rule !== "message_too_large") throw error;
    const given: Partial<RecordedCall> = {
      ...recorded,
      messageId: messageId ? recorded.messageId : undefined,
      timestamp: timestamp ? recorded.timestamp : undefined,
    } as Partial<RecordedCall>;
    // The absent fields are left out of the JSON that is measured.
    serializeCall(given as RecordedCall);
  }
}
