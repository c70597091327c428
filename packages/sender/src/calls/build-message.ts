import type { MessageType } from "../delivery/delivery.ts";
import { CallError } from "./call-error.ts";
import type { Calls, CommonFields } from "./calls.ts";

/** Most bytes of one call (spec section 8). */
const maxCallBytes = 32_768;

/** A message ready to be stored: what it is about, and its exact bytes. */
export interface BuiltMessage {
  readonly type: MessageType;
  readonly messageId: string;
  readonly identity: string;
  readonly event?: string | undefined;
  readonly body: Uint8Array;
}

/** What the sender adds to a call. */
export interface MessageDefaults {
  /** Used when the call has none. */
  readonly messageId: string;
  /** Used when the call has no timestamp, in milliseconds since 1970. */
  readonly now: number;
}

type CallType = keyof Calls;
type AnyCall = CommonFields & Readonly<Record<string, unknown>>;

/** Each type's own fields, in the order they have in the message. */
const ownFields: { readonly [T in CallType]: (call: AnyCall) => Readonly<Record<string, unknown>> } = {
  identify: (call) => ({ traits: object(call, "traits") }),
  track: (call) => ({ event: required(call, "event"), properties: object(call, "properties") }),
  page: viewFields,
  screen: viewFields,
  group: (call) => ({ groupId: required(call, "groupId"), traits: object(call, "traits") }),
  alias: (call) => ({ "Previous ID": required(call, "previousId"), "User ID": required(call, "userId") }),
};

function viewFields(call: AnyCall): Readonly<Record<string, unknown>> {
  return {
    name: text(call, "name"),
    category: text(call, "category"),
    properties: object(call, "properties"),
  };
}

/**
 * The message of a call (spec 2.2): version, type, messageId, userId, anonymousId, the type's own fields,
 * timestamp, context. It is serialised here, once; later changes to the call change nothing.
 *
 * @throws CallError when the call is not valid
 */
export function buildMessage<T extends CallType>(
  type: T,
  call: Calls[T],
  defaults: MessageDefaults,
): BuiltMessage {
  const fields = asCall(type, call);
  const userId = text(fields, "userId");
  const anonymousId = text(fields, "anonymousId");
  const identity = userId ?? anonymousId;
  const own = ownFields[type](fields);
  object(fields, "integrations");
  if (identity === undefined) {
    throw new CallError(
      "ERR_FIELD_MISSING",
      `${type}() needs a userId or an anonymousId, as a non-empty string.`,
      {
        field: "userId",
      },
    );
  }
  const messageId = text(fields, "messageId") ?? defaults.messageId;
  const message = {
    version: 1,
    type,
    messageId,
    userId,
    anonymousId,
    ...own,
    timestamp: timestamp(fields.timestamp, defaults.now),
    context: object(fields, "context"),
  };
  const body = serialize(type, message);
  if (body.byteLength > maxCallBytes) refuseLargeCall(type, fields);
  const event = type === "track" ? required(fields, "event") : undefined;
  return { type, messageId, identity, event, body };
}

/** The deletion notification of a user: `type`, `userId` and `timestamp`, nothing else (spec section 2.2). */
export function buildDeleteMessage(
  userId: string,
  time: Date | string | undefined,
  defaults: MessageDefaults,
): BuiltMessage {
  const identity = required({ userId }, "userId");
  const message = { type: "delete", userId: identity, timestamp: timestamp(time, defaults.now) };
  return { type: "delete", messageId: defaults.messageId, identity, body: serialize("delete", message) };
}

function asCall(type: CallType, call: unknown): AnyCall {
  if (isObject(call)) return call;
  throw new CallError("ERR_FIELD_INVALID", `${type}() takes an object, not ${kindOf(call)}.`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

/** A null field is an absent one, and so is an empty string. */
function text(call: AnyCall, field: string): string | undefined {
  const value = call[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new CallError("ERR_FIELD_INVALID", `${field} must be a string, not ${kindOf(value)}.`, { field });
}

function required(call: AnyCall, field: string): string {
  const value = text(call, field);
  if (value !== undefined) return value;
  throw new CallError("ERR_FIELD_MISSING", `${field} is required, as a non-empty string.`, { field });
}

function object(call: AnyCall, field: string): Readonly<Record<string, unknown>> {
  const value = call[field];
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw new CallError("ERR_FIELD_INVALID", `${field} must be an object, not ${kindOf(value)}.`, { field });
}

function timestamp(value: unknown, now: number): string {
  if (value === undefined || value === null || value === "") return new Date(now).toISOString();
  const time = typeof value === "string" || value instanceof Date ? new Date(value) : undefined;
  const text = time !== undefined && !Number.isNaN(time.getTime()) ? time.toISOString() : "";
  // Years beyond four digits come with a sign, which hardly any receiver reads.
  if (/^\d/.test(text)) return text;
  throw new CallError("ERR_FIELD_INVALID", "timestamp must be a Date or ISO 8601 text.", {
    field: "timestamp",
  });
}

function serialize(type: MessageType, message: unknown): Uint8Array {
  try {
    return Buffer.from(JSON.stringify(message));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CallError(
      "ERR_NOT_SERIALIZABLE",
      `${type}() was given a value that JSON cannot carry: ${reason}`,
      {
        cause,
      },
    );
  }
}

/** The limit is on the call; the message it becomes is a little longer. */
function refuseLargeCall(type: CallType, call: AnyCall): void {
  const bytes = serialize(type, { type, ...call }).byteLength;
  if (bytes <= maxCallBytes) return;
  throw new CallError(
    "ERR_CALL_TOO_LARGE",
    `${type}() was given ${bytes} bytes; a call may have ${maxCallBytes} (32 KiB). Send less, or in several calls.`,
  );
}
