import { assertJson, tooDeep, tooLarge } from "./assert-json.ts";
import { CallIssue, type CallRule } from "./call-issue.ts";
import type { CallType, RecordedCall } from "./calls.ts";
import { describeKind, isObject, nestsDeeperThan } from "./json.ts";
import { isMessageId, MAX_MESSAGE_ID_LENGTH, measureCall, utf8Bytes } from "./limits.ts";
import { nameHint } from "./options.ts";
import { formatTimestamp, parseTimestamp } from "./timestamps.ts";

/** What a call gets if it does not bring its own. */
export interface CallDefaults {
  /** Makes an id of 1 to 99 characters. */
  readonly messageId: () => string;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
}

type Fields = Readonly<Record<string, unknown>>;
type FieldNames = Readonly<Record<string, true>>;

const COMMON_FIELDS: FieldNames = {
  userId: true,
  anonymousId: true,
  integrations: true,
  context: true,
  timestamp: true,
  messageId: true,
};

/** The fields of each type of call (spec 2.3), as the keys of an object. */
export const CALL_FIELDS: Readonly<Record<CallType, FieldNames>> = {
  identify: { ...COMMON_FIELDS, traits: true },
  track: { ...COMMON_FIELDS, event: true, properties: true },
  page: { ...COMMON_FIELDS, name: true, category: true, traits: true, properties: true },
  screen: { ...COMMON_FIELDS, name: true, category: true, properties: true },
  group: { ...COMMON_FIELDS, groupId: true, traits: true },
  alias: { ...COMMON_FIELDS, previousId: true },
};

/**
 * Checks a call by the rules of spec 2.3 and 8, and fills in its id and time. It is strict, for the code of a program: a
 * misspelt field is an error, since it would be lost otherwise. The values of `properties` and the like are not copied.
 *
 * @param type - The type of the call.
 * @param call - What the program passed.
 * @param defaults - Where an id and a time come from if the call has none.
 * @throws CallIssue naming the rule and the field.
 */
export function recordCall(type: CallType, call: unknown, defaults: CallDefaults): RecordedCall {
  if (!isObject(call)) {
    throw new CallIssue(
      "not_an_object",
      undefined,
      `Pass an object to ${type}(), not ${describeKind(call)}.`,
    );
  }
  try {
    return readFields(type, call, defaults);
  } catch (error) {
    throw error instanceof CallIssue ? error : unwritable(type, error);
  }
}

function readFields(type: CallType, call: Fields, defaults: CallDefaults): RecordedCall {
  checkNames(type, call);
  const userId = text(call, "userId");
  const anonymousId = text(call, "anonymousId");
  const event = text(call, "event");
  const groupId = text(call, "groupId");
  const previousId = text(call, "previousId");
  const missing = missingField(type, { userId, anonymousId, event, groupId, previousId });
  if (missing !== undefined) throw new CallIssue(missing.rule, missing.field, `${type}() ${missing.words}`);
  // The order of the keys is the order they are sent in; JSON leaves out what is undefined.
  return {
    type,
    messageId: messageIdOf(call, defaults),
    timestamp: timestampOf(call, defaults),
    userId,
    anonymousId,
    event,
    groupId,
    previousId,
    name: text(call, "name"),
    category: text(call, "category"),
    properties: propertiesOf(type, call),
    traits: type === "page" ? undefined : object(call, "traits"),
    context: object(call, "context"),
    integrations: integrationsOf(call),
  };
}

/** A call as JSON. */
export interface SerializedCall {
  readonly json: string;
  /** UTF-8 size of `json`. */
  readonly bytes: number;
}

/**
 * Writes a recorded call as JSON and measures it: this is what the limit of 32 KiB counts (spec 8).
 *
 * @throws CallIssue `not_json`, `nested_too_deeply` or `message_too_large`.
 */
export function serializeCall(call: RecordedCall): SerializedCall {
  try {
    const writesItself = assertFields(call);
    const json = JSON.stringify(call);
    const bytes = measureCall(json);
    if (bytes === undefined) throw tooLarge(undefined, utf8Bytes(json));
    if (writesItself && nestsDeeperThan(JSON.parse(json))) throw tooDeep();
    return { json, bytes };
  } catch (error) {
    throw error instanceof CallIssue ? error : unwritable(call.type, error);
  }
}

/** A getter or a toJSON of the program threw, or returned what JSON cannot carry. */
function unwritable(type: CallType, cause: unknown): CallIssue {
  const message = `This ${type}() call cannot be written as JSON: ${String(cause)}.`;
  return new CallIssue("not_json", undefined, message, cause);
}

/** A required field that is absent. */
export interface MissingField {
  readonly rule: Extract<CallRule, `missing_${string}` | "no_user_anon_id">;
  readonly field: string;
  readonly words: string;
}

type RequiredFields = Pick<RecordedCall, "userId" | "anonymousId" | "event" | "groupId" | "previousId">;

/** The first required field that is absent, in the order of the Go library (spec 2.3), or `undefined`. */
export function missingField(type: CallType, fields: RequiredFields): MissingField | undefined {
  if (type === "alias") {
    if (fields.userId === undefined) return MISSING_USER_ID;
    return fields.previousId === undefined ? MISSING_PREVIOUS_ID : undefined;
  }
  if (type === "track" && fields.event === undefined) return MISSING_EVENT;
  if (type === "group" && fields.groupId === undefined) return MISSING_GROUP_ID;
  return fields.userId === undefined && fields.anonymousId === undefined ? NO_IDENTITY : undefined;
}

const MISSING_USER_ID = missing("missing_user_id", "userId", "needs a userId");
const MISSING_PREVIOUS_ID = missing("missing_previous_id", "previousId", "needs a previousId");
const MISSING_EVENT = missing("missing_event", "event", "needs an event");
const MISSING_GROUP_ID = missing("missing_group_id", "groupId", "needs a groupId");
const NO_IDENTITY = missing("no_user_anon_id", "userId", "needs a userId or an anonymousId");

function missing(rule: MissingField["rule"], field: string, needs: string): MissingField {
  return { rule, field, words: `${needs}, as a non-empty string.` };
}

/** A misspelt field would otherwise be lost without a word. */
function checkNames(type: CallType, call: Fields): void {
  const known = CALL_FIELDS[type];
  for (const name of Object.keys(call)) {
    if (Object.hasOwn(known, name) || call[name] === undefined) continue;
    throw new CallIssue("unknown_field", name, `${type}() has no field '${name}'${nameHint(name, known)}`);
  }
}

/** A text field; an empty text counts as absent. */
function text(call: Fields, field: string): string | undefined {
  const value = call[field] ?? "";
  if (typeof value === "string") return value === "" ? undefined : value;
  throw new CallIssue("invalid_field", field, `'${field}' must be a string, not ${describeKind(value)}.`);
}

function object(call: Fields, field: string): object | undefined {
  const value = call[field] ?? undefined;
  if (value === undefined || (isObject(value) && !(value instanceof Date))) return value;
  throw new CallIssue("invalid_field", field, `'${field}' must be an object, not ${describeKind(value)}.`);
}

function messageIdOf(call: Fields, defaults: CallDefaults): string {
  const messageId: unknown = text(call, "messageId") ?? defaults.messageId();
  if (typeof messageId === "string" && isMessageId(messageId)) return messageId;
  throw new CallIssue(
    "message_id_too_long",
    "messageId",
    `'messageId' must have 1 to ${MAX_MESSAGE_ID_LENGTH} characters.`,
  );
}

function timestampOf(call: Fields, defaults: CallDefaults): string {
  const given = call["timestamp"] ?? undefined;
  const time = given === undefined || given === "" ? defaults.now() : parseTimestamp(given);
  if (time !== undefined) return formatTimestamp(time);
  throw new CallIssue(
    "invalid_timestamp",
    "timestamp",
    `'timestamp' must be a valid Date or ISO 8601 text such as '2026-01-31T08:30:00.000Z', not ${describeKind(given)}.`,
  );
}

/** The Go library calls the properties of a page its traits (spec 2.3). */
function propertiesOf(type: CallType, call: Fields): object | undefined {
  const properties = object(call, "properties");
  const traits = type === "page" ? object(call, "traits") : undefined;
  return properties && traits ? { ...traits, ...properties } : (properties ?? traits);
}

function integrationsOf(call: Fields): object | undefined {
  const integrations = object(call, "integrations");
  if (integrations === undefined) return undefined;
  for (const [name, value] of Object.entries(integrations)) {
    if (value == null || typeof value === "boolean" || typeof value === "object") continue;
    const field = `integrations.${name}`;
    throw new CallIssue(
      "invalid_field",
      field,
      `'${field}' must be true, false or an object, not ${describeKind(value)}.`,
    );
  }
  return integrations;
}

/** Whether a field writes itself; see {@link assertJson}. */
function assertFields({ properties, traits, context, integrations }: RecordedCall): boolean {
  let writesItself = false;
  if (properties !== undefined) writesItself = assertJson(properties, "properties");
  if (traits !== undefined) writesItself = assertJson(traits, "traits") || writesItself;
  if (context !== undefined) writesItself = assertJson(context, "context") || writesItself;
  if (integrations !== undefined) writesItself = assertJson(integrations, "integrations") || writesItself;
  return writesItself;
}
