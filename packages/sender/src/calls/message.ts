import {
  assertSerializable,
  type CallDefaults,
  type Calls,
  type CallType,
  describeValue,
  formatTimestamp,
  messageOf,
  parseTimestamp,
  recordCall,
  type RecordedCall,
  serializeCall,
  ValidationError,
} from "@countersign/protocol";
import type { MessageType } from "@countersign/core";
import { CallError, callErrorOf } from "./call-error.ts";

/** A message ready to be stored: what it is about, and its exact bytes. */
export interface BuiltMessage {
  readonly type: MessageType;
  readonly messageId: string;
  readonly identity: string;
  readonly event?: string | undefined;
  readonly body: Uint8Array;
}

/** How a call reached its sender. Times are ISO 8601. */
export interface CallOrigin {
  /** When the server received it. Default: when the sender accepted it. */
  readonly receivedAt?: string | undefined;
  /** When the client sent it, by its own clock. */
  readonly sentAt?: string | undefined;
  /** When it was made, by the client's clock. Default: its timestamp. */
  readonly originalTimestamp?: string | undefined;
  /** The kind of client that sent it, such as `web` or `server`, if it says so. */
  readonly channel?: string | undefined;
}

/** Fields of a call that its message has only on demand: see `includeFields` of a destination. */
export const INCLUDABLE_FIELDS = [
  "integrations",
  "channel",
  "originalTimestamp",
  "sentAt",
  "receivedAt",
] as const;

/** The name of a field that a destination can include. */
export type IncludableField = (typeof INCLUDABLE_FIELDS)[number];

/** Fields that a message has besides the documented ones. */
export type IncludedFields = Readonly<Partial<Record<IncludableField, unknown>>>;

/**
 * The values of the fields that a destination includes.
 *
 * @param now When the sender accepted the call, in milliseconds since 1970.
 */
export function includedFields(
  names: readonly IncludableField[],
  call: Pick<RecordedCall, "integrations" | "timestamp"> & { readonly origin?: CallOrigin | undefined },
  now: number,
): IncludedFields {
  const { integrations, timestamp, origin = {} } = call;
  const { channel, sentAt, originalTimestamp = timestamp, receivedAt = formatTimestamp(now) } = origin;
  const known: IncludedFields = { integrations, channel, originalTimestamp, sentAt, receivedAt };
  return Object.fromEntries(names.map((name) => [name, known[name]]));
}

/** Each type's own fields, in the order they have in the message. */
const OWN_FIELDS: { readonly [T in CallType]: (call: RecordedCall) => Readonly<Record<string, unknown>> } = {
  identify: ({ traits = {} }) => ({ traits }),
  track: ({ event, properties = {} }) => ({ event, properties }),
  page: ({ name, category, properties = {} }) => ({ name, category, properties }),
  screen: ({ name, category, properties = {} }) => ({ name, category, properties }),
  group: ({ groupId, traits = {} }) => ({ groupId, traits }),
  alias: ({ previousId, userId }) => ({ "Previous ID": previousId, "User ID": userId }),
};

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

/**
 * The message of a recorded call (spec 2.2): version, type, messageId, userId, anonymousId, the type's own fields,
 * timestamp, context, and then what a destination includes. It is serialised here, once; later changes to the call change
 * nothing.
 *
 * @throws CallError when the call has no identity, or JSON cannot carry a value
 */
export function buildMessage(call: RecordedCall, included?: IncludedFields): BuiltMessage {
  const { type, messageId, userId, anonymousId, timestamp, context = {} } = call;
  const identity = identityOf(call);
  const own = OWN_FIELDS[type](call);
  const message = {
    version: 1,
    type,
    messageId,
    userId,
    anonymousId,
    ...own,
    timestamp,
    context,
    ...included,
  };
  const event = type === "track" ? call.event : undefined;
  return { type, messageId, identity, event, body: serialize(type, message) };
}

/** @throws CallError when no user is named */
function identityOf({ type, userId, anonymousId }: RecordedCall): string {
  const identity = userId ?? anonymousId;
  if (identity !== undefined) return identity;
  throw new CallError("ERR_FIELD_MISSING", `${type}() needs a userId or an anonymousId.`, {
    field: "userId",
  });
}

/** The deletion notification of a user: `type`, `userId` and `timestamp`, nothing else (spec 2.2). */
export function buildDeleteMessage(
  userId: string,
  timestamp: Date | string | undefined,
  now: number,
): Omit<BuiltMessage, "messageId"> {
  if (typeof userId !== "string" || userId === "") {
    throw new CallError(
      "ERR_FIELD_MISSING",
      `deleteUser() needs a userId, as a non-empty string, not ${describeValue(userId)}.`,
      { field: "userId" },
    );
  }
  // As in a call, null counts as absent.
  const time = (timestamp ?? undefined) === undefined ? now : parseTimestamp(timestamp);
  if (time === undefined) {
    throw new CallError(
      "ERR_FIELD_INVALID",
      `deleteUser({ timestamp }) must be a valid Date or ISO 8601 text, not ${describeValue(timestamp)}.`,
      { field: "timestamp" },
    );
  }
  const message = { type: "delete", userId, timestamp: formatTimestamp(time) };
  return { type: "delete", identity: userId, body: serialize("delete", message) };
}

function serialize(type: MessageType, message: unknown): Uint8Array {
  try {
    return Buffer.from(JSON.stringify(message));
  } catch (cause) {
    const reason = messageOf(cause);
    const text = `This ${type} message cannot be written as JSON: ${reason}`;
    throw new CallError("ERR_NOT_SERIALIZABLE", text, { cause });
  }
}

function assertFits(recorded: RecordedCall, { messageId, timestamp }: Calls[CallType]): void {
  try {
    assertSerializable(recorded);
  } catch (error) {
    if (!(error instanceof ValidationError) || error.rule !== "message_too_large") throw error;
    const given: Partial<RecordedCall> = {
      ...recorded,
      messageId: messageId ? recorded.messageId : undefined,
      timestamp: timestamp ? recorded.timestamp : undefined,
    } as Partial<RecordedCall>;
    // The absent fields are left out of the JSON that is measured.
    serializeCall(given as RecordedCall);
  }
}
