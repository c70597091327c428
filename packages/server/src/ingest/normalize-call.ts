import { hash } from "node:crypto";
import {
  CALL_FIELDS,
  CALL_TYPES,
  formatTimestamp,
  isMessageId,
  isObject,
  MAX_MESSAGE_ID_LENGTH,
  measureCall,
  missingField,
  nestsDeeperThan,
  OBJECT_FIELDS,
  repeatContent,
  TEXT_FIELDS,
  type CallType,
  type RecordedCall,
} from "@countersign/protocol";
import type { CallOrigin } from "@countersign/sender";
import { readOrigin } from "./call-origin.ts";
import { readGivenTime, readObject, readTraits, withDocumentedAll } from "./client-habits.ts";
import { REJECTION_REASONS, type RejectionReason } from "./rejection-reasons.ts";
import { type ClientTimes, correctClockSkew, readTimestamp } from "./timestamps.ts";

/** A call that passed every check, ready to be forwarded. Absent fields are absent, never null. */
export interface IngestedCall extends Omit<RecordedCall, "messageId" | keyof Objects>, Readonly<Objects> {
  /** Absent if the client gave none. */
  readonly messageId?: string;
  /** For destinations that include it. */
  readonly origin?: CallOrigin;
  /** The key by which a repeat of this call is recognised (ADR 19). Absent if the client gave the call no identity. */
  readonly key?: string;
  /** The key by which the ledger of an earlier version recognises it. */
  readonly formerKey?: string;
}

/** `context` and `integrations` of a batch, measured once for all of its messages. */
export interface SharedFields {
  readonly context?: JsonRecord | undefined;
  readonly integrations?: JsonRecord | undefined;
  /** Their size as JSON, in bytes. */
  readonly bytes: number;
}

/** What the request around a message says about it. */
export interface CallSurroundings {
  /** The type that the path fixes; without it the message's own `type` counts. */
  readonly type?: CallType | undefined;
  /** When the request came in, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** The `sentAt` of the batch, in milliseconds since 1970, if it can be read; a message's own takes precedence. */
  readonly sentAt?: number | undefined;
  /** The address of the client's connection. */
  readonly ip?: string | undefined;
  /** What the batch says for all of its messages. */
  readonly shared?: SharedFields | undefined;
  /** Identity for a message that has no `messageId`: from the batch's own, and its place in it. */
  readonly fallbackKey?: string | undefined;
}

/** A value, or the reason why it is rejected. */
export type Verdict<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: RejectionReason; readonly detail: string };

type JsonRecord = Record<string, unknown>;

/**
 * The fields that a client records, and that its limit counts. Others, such as `writeKey` and `_metadata`, are for the wire.
 */
const RECORDED_FIELDS = ["type", "timestamp", ...TEXT_FIELDS, ...OBJECT_FIELDS] as const;

class Rejected extends Error {
  readonly reason: RejectionReason;
  constructor(reason: RejectionReason, detail: string = REJECTION_REASONS[reason]) {
    super(detail);
    this.reason = reason;
  }
}

/** Checks one message of the wire and brings it into the shape that is forwarded. Accepts any value. */
export function normalizeCall(message: unknown, surroundings: CallSurroundings): Verdict<IngestedCall> {
  return judged(() => toCall(message, surroundings));
}

/** Reads `context` and `integrations` of a batch. Anything but an object counts as absent. */
export function readSharedFields(batch: JsonRecord): Verdict<SharedFields> {
  return judged(() => {
    const context = readObject(batch["context"]);
    const given = readObject(batch["integrations"]);
    if (!(context || given)) return { bytes: 0 };
    assertShallow({ context, given });
    const integrations = given && withDocumentedAll(given);
    return { context, integrations, bytes: measure({ context, integrations }) };
  });
}

function judged<T>(read: () => T): Verdict<T> {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof Rejected) return { ok: false, reason: error.reason, detail: error.message };
    throw error;
  }
}

function toCall(message: unknown, surroundings: CallSurroundings): IngestedCall {
  if (!isObject(message)) throw new Rejected("not_an_object");
  // First of all: what nests too deeply would overflow the stack of whatever serialises it.
  assertShallow(message);
  const recorded = recordedFields(message);
  measure(recorded);
  const type = surroundings.type ?? readType(recorded["type"]);
  const text = readTexts(type, recorded);
  const missing = missingField(type, text);
  if (missing) throw new Rejected(missing.rule);
  const objects = readObjects(type, recorded, surroundings);
  const times = readTimes(message, surroundings);
  return {
    type,
    ...text,
    ...objects,
    timestamp: readCallTime(times),
    origin: readOrigin(message, times),
    ...keysOf(type, text.messageId, surroundings.fallbackKey, recorded),
  };
}

/** The same call again has the same key, and another call with a used id another one. What is hashed names its kind. */
function keysOf(
  type: CallType,
  messageId: string | undefined,
  place: string | undefined,
  recorded: JsonRecord,
): Pick<IngestedCall, "key" | "formerKey"> {
  if (messageId === undefined && place === undefined) return {};
  const identity = messageId === undefined ? ["place", place] : ["id", messageId];
  // Several times as fast as an object of createHash(), which the garbage collector has to finalize.
  return {
    key: hash("sha256", JSON.stringify([...identity, type, repeatContent(recorded)]), "base64url"),
    formerKey: messageId === undefined ? (place ?? "") : formerKeyOf(messageId),
  };
}

/** A `messageId` that looks like a place in a batch was made longer than any other, so that it was not taken for one. */
function formerKeyOf(messageId: string): string {
  return /#\d+$/.test(messageId) ? messageId.padEnd(MAX_MESSAGE_ID_LENGTH + 1, "#") : messageId;
}

/** A null field counts as absent on this wire. A null inside properties or traits is the customer's own value. */
function recordedFields(message: JsonRecord): JsonRecord {
  const fields: JsonRecord = {};
  for (const field of RECORDED_FIELDS) {
    const value = message[field];
    if (value !== undefined && value !== null) fields[field] = value;
  }
  return fields;
}

function assertShallow(message: JsonRecord): void {
  if (nestsDeeperThan(message)) throw new Rejected("nested_too_deeply");
}

/** The size of the JSON, in bytes. */
function measure(fields: JsonRecord): number {
  const bytes = measureCall(JSON.stringify(fields));
  if (bytes === undefined) throw new Rejected("message_too_large");
  return bytes;
}

function readType(value: unknown): CallType {
  if (value === undefined || value === "") throw new Rejected("missing_type");
  const type = CALL_TYPES.find((known) => known === value);
  if (!type) throw new Rejected("unknown_type");
  return type;
}

type Texts = { -readonly [field in (typeof TEXT_FIELDS)[number]]?: string };

/** Identifiers are often numbers in the customer's own systems, so a number is read as its digits. */
function readTexts(type: CallType, fields: JsonRecord): Texts {
  const texts: Texts = {};
  for (const field of TEXT_FIELDS) {
    const value = fields[field];
    if (value === undefined || value === "" || !Object.hasOwn(CALL_FIELDS[type], field)) continue;
    // A number too large for JSON.parse is Infinity, whatever it was.
    if (typeof value !== "string" && !(typeof value === "number" && Number.isFinite(value))) {
      throw new Rejected("invalid_field", `\`${field}\` must be a string.`);
    }
    texts[field] = String(value);
  }
  if (texts.messageId !== undefined && !isMessageId(texts.messageId)) {
    throw new Rejected("message_id_too_long");
  }
  return texts;
}

type Objects = { -readonly [field in (typeof OBJECT_FIELDS)[number]]?: JsonRecord };

function readObjects(type: CallType, fields: JsonRecord, { shared, ip }: CallSurroundings): Objects {
  const objects: Objects = {};
  for (const field of OBJECT_FIELDS) {
    const value = fields[field];
    if (value === undefined || !Object.hasOwn(CALL_FIELDS[type], field)) continue;
    const content = readObject(value);
    if (!content) throw new Rejected("invalid_field", `\`${field}\` must be an object.`);
    objects[field] = content;
  }
  if (type === "page" && objects.traits) {
    // The Go library calls the properties of a page its traits (spec 2.3).
    objects.properties = { ...objects.traits, ...objects.properties };
    delete objects.traits;
  }
  if (shared?.context) objects.context = { ...shared.context, ...objects.context };
  if (objects.integrations) objects.integrations = withDocumentedAll(objects.integrations);
  if (shared?.integrations) objects.integrations = { ...shared.integrations, ...objects.integrations };
  const traits = readTraits(type, objects.traits, objects.context);
  if (traits) objects.traits = traits;
  if (objects.context?.["direct"] === true && objects.context["ip"] == null && ip !== undefined) {
    objects.context = { ...objects.context, ip };
  }
  return objects;
}

/** The times of a message. */
function readTimes(message: JsonRecord, { receivedAt, sentAt }: CallSurroundings): ClientTimes {
  const given = readGivenTime(message) ?? "";
  const originalTimestamp = readTimestamp(given);
  // A call with an unreadable time is reported to its maker, not dated today.
  if (given !== "" && originalTimestamp === undefined) throw new Rejected("invalid_timestamp");
  const ownSentAt = message["sentAt"] ?? undefined;
  return {
    receivedAt,
    sentAt: ownSentAt === undefined ? sentAt : readTimestamp(ownSentAt),
    originalTimestamp,
  };
}

function readCallTime(times: ClientTimes): string {
  return formatTimestamp(correctClockSkew(times));
}
