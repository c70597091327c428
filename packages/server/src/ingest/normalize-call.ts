import { MAX_CALL_BYTES, MAX_NESTING, MESSAGE_ID_LIMIT } from "./limits.ts";
import { isRecord, nestsDeeperThan, withoutNulls, type JsonRecord } from "./records.ts";
import { rejectionReasons, type RejectionReason } from "./rejection-reasons.ts";
import { correctClockSkew, parseTimestamp } from "./timestamps.ts";

/** The six calls of a client, as `type` names them. */
export const callTypes = ["identify", "track", "page", "screen", "group", "alias"] as const;

/** One of the six calls of a client. */
export type CallType = (typeof callTypes)[number];

/** A call that passed every check, ready to be forwarded. Absent fields are absent, never null. */
export interface IngestedCall {
  readonly type: CallType;
  readonly messageId?: string;
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly event?: string;
  readonly name?: string;
  readonly category?: string;
  readonly groupId?: string;
  readonly previousId?: string;
  readonly properties?: JsonRecord;
  readonly traits?: JsonRecord;
  readonly context?: JsonRecord;
  readonly integrations?: JsonRecord;
  /** When the call was made, by our clock: ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  /** What makes a repeat of this call recognisable; absent when the client gave it no identity. */
  readonly dedupeKey?: string;
}

/** `context` and `integrations` of a batch, measured once for all of its messages. */
export interface SharedFields {
  readonly context?: JsonRecord | undefined;
  readonly integrations?: JsonRecord | undefined;
  /** Their size as JSON. It counts towards each message, which would otherwise multiply it by 2,500. */
  readonly bytes: number;
  readonly tooDeep: boolean;
}

/** What the request around a message says about it. */
export interface CallSurroundings {
  /** The type that the path fixes; without it the message's own `type` counts. */
  readonly type?: CallType | undefined;
  /** When the request came in, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** The `sentAt` of the batch, which a message's own overrides. */
  readonly sentAt?: unknown;
  /** The address of the client's connection. */
  readonly ip?: string | undefined;
  /** What the batch says for all of its messages. */
  readonly shared?: SharedFields | undefined;
  /** Identity for a message that has no `messageId`: from the batch's own, and its place in it. */
  readonly fallbackKey?: string | undefined;
}

/** A call, or why the message is none. */
export type NormalizedCall =
  | { readonly ok: true; readonly call: IngestedCall }
  | { readonly ok: false; readonly reason: RejectionReason; readonly detail: string };

const textFields = [
  "userId",
  "anonymousId",
  "event",
  "name",
  "category",
  "groupId",
  "previousId",
  "messageId",
] as const;
const recordFields = ["properties", "traits", "context", "integrations"] as const;

class Rejected extends Error {
  readonly reason: RejectionReason;
  constructor(reason: RejectionReason, detail: string = rejectionReasons[reason]) {
    super(detail);
    this.reason = reason;
  }
}

/** Checks one message of the wire and brings it into the shape that is forwarded. Accepts any value. */
export function normalizeCall(message: unknown, surroundings: CallSurroundings): NormalizedCall {
  try {
    return { ok: true, call: toCall(message, surroundings) };
  } catch (error) {
    if (error instanceof Rejected) return { ok: false, reason: error.reason, detail: error.message };
    throw error;
  }
}

function toCall(message: unknown, surroundings: CallSurroundings): IngestedCall {
  if (!isRecord(message)) throw new Rejected("not_an_object");
  assertBounded(message, surroundings.shared);
  const fields = withoutNulls(message);
  const type = surroundings.type ?? readType(fields["type"]);
  const text = readTexts(fields);
  const records = readRecords(fields, surroundings);
  assertComplete(type, text);
  const dedupeKey = text.messageId ?? surroundings.fallbackKey;
  return {
    type,
    ...text,
    ...records,
    timestamp: readTimestamp(fields, surroundings),
    ...(dedupeKey !== undefined && { dedupeKey }),
  };
}

/** Reads `context` and `integrations` of a batch. Anything but an object counts as absent. */
export function readSharedFields(batch: JsonRecord): SharedFields {
  const context = isRecord(batch["context"]) ? batch["context"] : undefined;
  const integrations = isRecord(batch["integrations"]) ? batch["integrations"] : undefined;
  const tooDeep = nestsDeeperThan({ context, integrations }, MAX_NESTING);
  const bytes =
    tooDeep || !(context || integrations) ? 0 : Buffer.byteLength(JSON.stringify({ context, integrations }));
  return { context, integrations, bytes, tooDeep };
}

function assertBounded(message: JsonRecord, shared: SharedFields | undefined): void {
  if (shared?.tooDeep || nestsDeeperThan(message, MAX_NESTING)) throw new Rejected("nested_too_deeply");
  const bytes = Buffer.byteLength(JSON.stringify(message)) + (shared?.bytes ?? 0);
  if (bytes > MAX_CALL_BYTES) throw new Rejected("message_too_large");
}

function readType(value: unknown): CallType {
  if (value === undefined || value === "") throw new Rejected("missing_type");
  const type = callTypes.find((known) => known === value);
  if (!type) throw new Rejected("unknown_type");
  return type;
}

type Texts = { -readonly [field in (typeof textFields)[number]]?: string };

/** Identifiers are often numbers in the customer's own systems, so a number is taken as its digits. */
function readTexts(fields: JsonRecord): Texts {
  const texts: Texts = {};
  for (const field of textFields) {
    const value = fields[field];
    if (value === undefined || value === "") continue;
    // A number too large for JSON.parse is Infinity, whatever it was.
    if (typeof value !== "string" && !(typeof value === "number" && Number.isFinite(value))) {
      throw new Rejected("invalid_field", `\`${field}\` must be a string.`);
    }
    texts[field] = String(value);
  }
  if (texts.messageId !== undefined && texts.messageId.length >= MESSAGE_ID_LIMIT) {
    throw new Rejected("message_id_too_long");
  }
  return texts;
}

type Records = { -readonly [field in (typeof recordFields)[number]]?: JsonRecord };

function readRecords(fields: JsonRecord, { shared, ip }: CallSurroundings): Records {
  const records: Records = {};
  for (const field of recordFields) {
    const value = fields[field];
    if (value === undefined) continue;
    if (!isRecord(value)) throw new Rejected("invalid_field", `\`${field}\` must be an object.`);
    records[field] = value;
  }
  if (shared?.context) records.context = { ...shared.context, ...records.context };
  if (shared?.integrations) records.integrations = { ...shared.integrations, ...records.integrations };
  if (records.context?.["direct"] === true && records.context["ip"] == null && ip !== undefined) {
    records.context = { ...records.context, ip };
  }
  return records;
}

function assertComplete(type: CallType, text: Texts): void {
  if (type === "alias") {
    if (text.userId === undefined) throw new Rejected("missing_user_id");
    if (text.previousId === undefined) throw new Rejected("missing_previous_id");
    return;
  }
  if (text.userId === undefined && text.anonymousId === undefined) throw new Rejected("no_user_anon_id");
  if (type === "track" && text.event === undefined) throw new Rejected("missing_event");
  if (type === "group" && text.groupId === undefined) throw new Rejected("missing_group_id");
}

function readTimestamp(fields: JsonRecord, { receivedAt, sentAt }: CallSurroundings): string {
  const given = fields["originalTimestamp"] ?? fields["timestamp"];
  const originalTimestamp = parseTimestamp(given);
  // A call that says when it happened and cannot be understood is shown to its maker, rather than dated today.
  if (given !== undefined && given !== "" && originalTimestamp === undefined)
    throw new Rejected("invalid_timestamp");
  const corrected = correctClockSkew({
    receivedAt,
    sentAt: parseTimestamp(fields["sentAt"] ?? sentAt),
    originalTimestamp,
  });
  if (corrected === undefined) throw new Rejected("invalid_timestamp");
  return new Date(corrected).toISOString();
}
