import {
  CALL_FIELDS,
  CALL_TYPES,
  formatTimestamp,
  isMessageId,
  isObject,
  MAX_CALL_BYTES,
  measureCall,
  missingField,
  mostParsedBytes,
  nestsDeeperThan,
  OBJECT_FIELDS,
  TEXT_FIELDS,
  utf8Bytes,
  limitStacks,
  type CallType,
} from "@countersign/protocol";
import type { JudgedCall } from "@countersign/sender";
import { formerKeyOf, keyOf } from "./call-key.ts";
import { WireOrigin } from "./call-origin.ts";
import { readGivenTime, readObject, readTraits, withDocumentedAll } from "./client-habits.ts";
import { REJECTION_REASONS, type RejectionReason } from "./rejections.ts";
import { type ClientTimes, correctClockSkew, readTimestamp } from "./timestamps.ts";

/** A call that passed every check. */
export interface IngestedCall {
  /** Ready to be forwarded. Absent fields are `undefined`, never null. Without an identity of its client, it has no `key`. */
  readonly call: JudgedCall;
  /** The key by which the ledger of an earlier version recognises it. */
  readonly formerKey: string | undefined;
}

/** `context` and `integrations` of a batch, measured once for all of its messages. */
export interface SharedFields {
  readonly context?: JsonRecord | undefined;
  /** `context` as it is of a message that has none of its own. */
  readonly contextAlone?: JsonRecord | undefined;
  readonly integrations?: JsonRecord | undefined;
  /**
   * What they come to in each message: their size as JSON in bytes, or {@link FIELD_BYTES} for each field, and for each object and
   * list within, if that is more.
   */
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

/**
 * What each field that a batch shares counts at least, and each object or list within: to copy one into a message that has fields of
 * its own, or to serialise it, takes as long as to store this many bytes, however short it is.
 */
const FIELD_BYTES = 64;

/** Receivers are told of no larger message: a call, and the context of its batch. */
const MAX_MESSAGE_BYTES = 2 * MAX_CALL_BYTES;
const TOO_LARGE_WITH_TRAITS =
  "With the context of its batch, and the traits of that as its own, the message is larger than 65,536 bytes of JSON.";

class Rejected extends Error {
  readonly reason: RejectionReason;
  constructor(reason: RejectionReason, detail: string = REJECTION_REASONS[reason]) {
    // Nobody asks where it was thrown.
    const calls = limitStacks(0);
    super(detail);
    limitStacks(calls);
    this.reason = reason;
  }
}

/** Checks one message of the wire and brings it into the shape that is forwarded. Accepts any value. */
export function normalizeCall(message: unknown, surroundings: CallSurroundings): Verdict<IngestedCall> {
  return judged(() => toCall(message, surroundings));
}

/** Reads `context` and `integrations` of a batch. Anything but an object counts as absent. */
export function readSharedFields(batch: JsonRecord, ip: string | undefined): Verdict<SharedFields> {
  return judged(() => {
    const context = readObject(batch["context"]);
    const given = readObject(batch["integrations"]);
    if (!(context || given)) return { bytes: 0 };
    assertShallow({ context, given });
    const integrations = given && withDocumentedAll(given);
    // Those of `context` become those of an identify call that has none, and stay where they are.
    const traits = readTraits("identify", undefined, context);
    const bytes = measure({ context, integrations }) + (traits ? measure({ traits }) : 0);
    const fields = [context, integrations].flatMap((object) => Object.values(object ?? {}));
    const parts = fields.reduce<number>((sum, field) => sum + containersIn(field), fields.length);
    return {
      context,
      contextAlone: withAddress(context, ip),
      integrations,
      bytes: Math.max(bytes, parts * FIELD_BYTES),
    };
  });
}

/** How many objects and lists there are in a parsed value, with itself. */
function containersIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + containersIn(inner), 1);
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
  assertFits(message);
  const type = surroundings.type ?? readType(message["type"] ?? undefined);
  const texts = readTexts(type, message);
  const { messageId, userId, anonymousId, event, name, category, groupId, previousId } = texts;
  const missing = missingField(type, texts);
  if (missing) throw new Rejected(missing.rule);
  const { properties, traits, context, integrations } = readObjects(type, message, surroundings);
  // Those of its context, which an identify call without any has, are in it twice.
  if (traits !== undefined && traits === context?.["traits"]) assertSendable({ ...texts, traits, context });
  const times = readTimes(message, surroundings);
  const { fallbackKey } = surroundings;
  // Every call has the same fields in the same order: what reads calls of one shape is several times as fast.
  const call = {
    type,
    messageId,
    timestamp: formatTimestamp(correctClockSkew(times)),
    userId,
    anonymousId,
    event,
    name,
    category,
    groupId,
    previousId,
    properties,
    traits,
    context,
    integrations,
    origin: new WireOrigin(message, times),
    key: keyOf(message, type, messageId, fallbackKey),
  };
  return { call, formerKey: formerKeyOf(messageId, fallbackKey) };
}

/**
 * Rejects what nests too deeply, which would overflow the stack of whatever serialises it, and then what is too large. Most
 * messages are far from both, which takes less to see than to write them.
 */
function assertFits(message: JsonRecord): void {
  if (mostParsedBytes(message) <= MAX_CALL_BYTES) return;
  assertShallow(message);
  measure(recordedFields(message));
}

/** Rejects a call that would leave as a larger message than receivers are told of. */
function assertSendable(fields: JsonRecord): void {
  const { traits, context } = fields;
  if (mostParsedBytes({ traits, context }) <= MAX_CALL_BYTES) return;
  if (utf8Bytes(JSON.stringify(fields)) <= MAX_MESSAGE_BYTES) return;
  throw new Rejected("message_too_large", TOO_LARGE_WITH_TRAITS);
}

/** A null field counts as absent on this wire. A null inside properties or traits is the customer's own value. */
function recordedFields(message: JsonRecord): JsonRecord {
  return Object.fromEntries(RECORDED_FIELDS.map((field) => [field, message[field] ?? undefined]));
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

type Texts = { readonly [field in (typeof TEXT_FIELDS)[number]]: string | undefined };

function readTexts(type: CallType, message: JsonRecord): Texts {
  const own = CALL_FIELDS[type];
  const texts = {
    userId: readText(message, "userId"),
    anonymousId: readText(message, "anonymousId"),
    event: own["event"] && readText(message, "event"),
    name: own["name"] && readText(message, "name"),
    category: own["category"] && readText(message, "category"),
    groupId: own["groupId"] && readText(message, "groupId"),
    previousId: own["previousId"] && readText(message, "previousId"),
    messageId: readText(message, "messageId"),
  };
  if (texts.messageId !== undefined && !isMessageId(texts.messageId)) {
    throw new Rejected("message_id_too_long");
  }
  return texts;
}

/** Identifiers are often numbers in the customer's own systems, so a number is read as its digits. */
function readText(message: JsonRecord, field: string): string | undefined {
  const value = message[field] ?? "";
  if (typeof value === "string") return value === "" ? undefined : value;
  // A number too large for JSON.parse is Infinity, whatever it was.
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  throw new Rejected("invalid_field", `\`${field}\` must be a string.`);
}

type Objects = { [field in (typeof OBJECT_FIELDS)[number]]?: JsonRecord | undefined };

function readObjects(type: CallType, message: JsonRecord, { shared, ip }: CallSurroundings): Objects {
  const own = CALL_FIELDS[type];
  const properties = own["properties"] && readField(message, "properties");
  const traits = own["traits"] && readField(message, "traits");
  const context = readField(message, "context");
  const integrations = readField(message, "integrations");
  const objects: Objects = {
    properties,
    traits,
    context: context ? withAddress(merged(shared?.context, context), ip) : shared?.contextAlone,
    integrations: merged(shared?.integrations, integrations && withDocumentedAll(integrations)),
  };
  if (type === "page" && objects.traits) {
    // The Go library calls the properties of a page its traits (spec 2.3).
    objects.properties = { ...objects.traits, ...objects.properties };
    objects.traits = undefined;
  }
  objects.traits = readTraits(type, objects.traits, objects.context);
  return objects;
}

/**
 * What the batch says for all of its messages, and the fields of one, which take precedence. What needs no merging is not copied:
 * of 2,500 messages and some hundred fields, the copies took most of the time, and megabytes until they were stored.
 */
function merged(shared: JsonRecord | undefined, own: JsonRecord | undefined): JsonRecord | undefined {
  return shared && own ? { ...shared, ...own } : (own ?? shared);
}

/** A `context` that asks for the address of the client, with that. */
function withAddress(context: JsonRecord | undefined, ip: string | undefined): JsonRecord | undefined {
  const isAsked = context?.["direct"] === true && context["ip"] == null && ip !== undefined;
  return isAsked ? { ...context, ip } : context;
}

function readField(message: JsonRecord, field: string): JsonRecord | undefined {
  const value = message[field] ?? undefined;
  if (value === undefined) return undefined;
  const content = readObject(value);
  if (!content) throw new Rejected("invalid_field", `\`${field}\` must be an object.`);
  return content;
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
