import { assertJson, mostJsonBytes, mostTextBytes, tooLarge } from "./assert-json.ts";
import { ValidationError, type CallRule } from "./validation-error.ts";
import type { CallType, RecordedCall } from "./calls.ts";
import { describeValue, isBoxed, isDate, isObject, nameKind } from "./json.ts";
import { isMessageId, MAX_CALL_BYTES, MAX_MESSAGE_ID_LENGTH, utf8Bytes } from "./limits.ts";
import {
  EVENT_SYNONYMS,
  PROPERTIES_SYNONYMS,
  USER_ID_SYNONYMS,
  type OptionSynonyms,
} from "./option-synonyms.ts";
import { nameHint } from "./options.ts";
import { parseBack } from "./parse-back.ts";
import { formatTimestamp, parseTimestamp } from "./timestamps.ts";

/** The id and the time of a call that has none. */
export interface CallDefaults {
  /** Makes an id of 1 to 99 characters. */
  readonly messageId: () => string;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
}

type Fields = Readonly<Record<string, unknown>>;
const COMMON_FIELDS: Readonly<Record<string, true>> = {
  userId: true,
  anonymousId: true,
  integrations: true,
  context: true,
  timestamp: true,
  messageId: true,
};

/** Fields of a call that hold objects. */
export const OBJECT_FIELDS = ["properties", "traits", "context", "integrations"] as const;

/** Fields of a call that hold text and identify or name something. */
export const TEXT_FIELDS = [
  "userId",
  "anonymousId",
  "event",
  "name",
  "category",
  "groupId",
  "previousId",
  "messageId",
] as const;

/** The fields of each type of call (spec 2.3), as the keys of an object. */
export const CALL_FIELDS: Readonly<Record<CallType, Readonly<Record<string, true>>>> = {
  identify: { ...COMMON_FIELDS, traits: true },
  track: { ...COMMON_FIELDS, event: true, properties: true },
  page: { ...COMMON_FIELDS, name: true, category: true, traits: true, properties: true },
  screen: { ...COMMON_FIELDS, name: true, category: true, properties: true },
  group: { ...COMMON_FIELDS, groupId: true, traits: true },
  alias: { ...COMMON_FIELDS, previousId: true },
};

/** What other libraries call some of them. */
const SYNONYMS: Readonly<Record<string, OptionSynonyms>> = {
  userId: USER_ID_SYNONYMS,
  event: EVENT_SYNONYMS,
  properties: PROPERTIES_SYNONYMS,
};

/**
 * Checks a call by the rules of the service (spec 2.3, 8), and fills in its id and time. It is strict, for the code of a program: a
 * misspelt field is an error, since it would be lost otherwise. The values of `properties` and the like are not copied.
 *
 * @param type - The type of the call.
 * @param call - What the program passed.
 * @param defaults - Where an id and a time come from if the call has none.
 * @throws ValidationError naming the rule and the field.
 */
export function recordCall(type: CallType, call: unknown, defaults: CallDefaults): RecordedCall {
  if (!isObject(call)) {
    throw new ValidationError(
      "not_an_object",
      undefined,
      `Pass an object to ${type}(), not ${nameKind(call)}.`,
    );
  }
  return guarded(type, () => readFields(type, call, defaults));
}

function readFields(type: CallType, call: Fields, defaults: CallDefaults): RecordedCall {
  checkNames(type, call);
  // The order of the keys is the order they are sent in; JSON leaves out what is undefined.
  const recorded: RecordedCall = {
    type,
    messageId: messageIdOf(call, defaults),
    timestamp: timestampOf(call["timestamp"], defaults),
    userId: text(call, "userId"),
    anonymousId: text(call, "anonymousId"),
    event: text(call, "event"),
    groupId: text(call, "groupId"),
    previousId: text(call, "previousId"),
    name: text(call, "name"),
    category: text(call, "category"),
    properties: propertiesOf(type, call),
    traits: type === "page" ? undefined : object(call, "traits"),
    context: object(call, "context"),
    integrations: integrationsOf(call),
  };
  const missing = missingField(type, recorded);
  if (missing !== undefined) throw new ValidationError(missing.rule, missing.field, missing.words);
  return recorded;
}

/** A call as JSON. */
export interface SerializedCall {
  readonly json: string;
  /** UTF-8 size of `json`. */
  readonly bytes: number;
}

/**
 * Writes a recorded call as JSON: its size is what the limit of 32 KiB counts (spec 8).
 *
 * @throws ValidationError `not_json`, `nested_too_deeply` or `message_too_large`.
 */
export function writeCall(call: RecordedCall): string {
  return guarded(call.type, () => {
    const writesItself = assertFields(call);
    const json = JSON.stringify(call);
    // No code unit takes more than three bytes, so most calls need not be measured.
    if (json.length * 3 > MAX_CALL_BYTES && utf8Bytes(json) > MAX_CALL_BYTES) {
      throw tooLarge(undefined, utf8Bytes(json));
    }
    if (writesItself) assertFields(JSON.parse(json) as RecordedCall);
    return json;
  });
}

/**
 * Writes a recorded call like {@link writeCall}, and measures it.
 *
 * @throws ValidationError `not_json`, `nested_too_deeply` or `message_too_large`.
 */
export function serializeCall(call: RecordedCall): SerializedCall {
  const json = writeCall(call);
  return { json, bytes: utf8Bytes(json) };
}

/** More than the names of all fields of a call take, with its type and its timestamp. */
const FRAME_BYTES = 512;

/**
 * Checks a recorded call like {@link writeCall}, and writes it only where it could be too large: most calls are far from it.
 *
 * @throws ValidationError `not_json`, `nested_too_deeply` or `message_too_large`.
 */
export function assertSerializable(call: RecordedCall): void {
  const most = guarded(call.type, () => {
    let bytes = FRAME_BYTES;
    for (const field of TEXT_FIELDS) bytes += mostTextBytes(call[field] ?? "");
    for (const field of OBJECT_FIELDS) {
      const value = call[field];
      if (value !== undefined) bytes += mostJsonBytes(value, field);
    }
    return bytes;
  });
  if (most > MAX_CALL_BYTES) writeCall(call);
}

/** Runs code of the program: a getter, a toJSON, or what makes an id or tells the time may throw. */
function guarded<Result>(type: CallType, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof ValidationError) throw error;
    const message = `This ${type}() call cannot be recorded: ${String(error)}.`;
    throw new ValidationError("not_json", undefined, message, error);
  }
}

/** A required field that is absent. */
export interface MissingField {
  readonly rule: Extract<CallRule, `missing_${string}` | "no_user_anon_id">;
  readonly field: string;
  /** What the Go library says of it. */
  readonly words: string;
}

type RequiredFields = Pick<RecordedCall, "userId" | "anonymousId" | "event" | "groupId" | "previousId">;

/** The fields that each type requires, in the order of the Go library (spec 2.3). */
const REQUIRED_FIELDS: {
  readonly [T in CallType]?: readonly (readonly [keyof RequiredFields, MissingField["rule"]])[];
} = {
  track: [["event", "missing_event"]],
  group: [["groupId", "missing_group_id"]],
  alias: [
    ["userId", "missing_user_id"],
    ["previousId", "missing_previous_id"],
  ],
};

/** The first required field that is absent, in the order of the Go library (spec 2.3), or `undefined`. */
export function missingField(type: CallType, fields: RequiredFields): MissingField | undefined {
  for (const [field, rule] of REQUIRED_FIELDS[type] ?? []) {
    if (fields[field] !== undefined) continue;
    return { rule, field, words: `You must pass ${field === "event" ? "" : "a "}'${field}'.` };
  }
  if ((fields.userId ?? fields.anonymousId) !== undefined) return undefined;
  const words = "You must pass either an 'anonymousId' or 'userId'.";
  return { rule: "no_user_anon_id", field: "userId", words };
}

/** A misspelt field would otherwise be lost silently. */
function checkNames(type: CallType, call: Fields): void {
  const known = CALL_FIELDS[type];
  for (const name of Object.keys(call)) {
    if (known[name] === true || call[name] === undefined) continue;
    const names = Object.fromEntries(Object.keys(known).map((field) => [field, SYNONYMS[field]]));
    throw new ValidationError(
      "unknown_field",
      name,
      `${type}() has no field '${name}'${nameHint(name, names)}`,
    );
  }
}

/** A text field; an empty text counts as absent. */
function text(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (typeof value === "string") return value === "" ? undefined : value;
  if (value == null) return undefined;
  throw invalid(field, "a string", nameKind(value));
}

/** An object field. One that writes itself is what it writes: only that says whether it is an object. */
function object(call: Fields, field: string): object | undefined {
  let value = call[field];
  if (isObject(value) && typeof value["toJSON"] !== "function" && !isBoxed(value)) return value;
  if (isObject(value) && !isDate(value)) {
    // The types do not say that it may write nothing.
    const json: string | undefined = JSON.stringify(value);
    value = parseBack(json ?? "null");
    if (isObject(value)) return value;
  }
  if (value == null) return undefined;
  throw invalid(field, "an object", nameKind(value));
}

function invalid(
  field: string,
  wanted: string,
  given: string,
  rule: CallRule = "invalid_field",
): ValidationError {
  return new ValidationError(rule, field, `'${field}' must be ${wanted}, not ${given}.`);
}

function messageIdOf(call: Fields, defaults: CallDefaults): string {
  const messageId: unknown = text(call, "messageId") ?? defaults.messageId();
  if (typeof messageId === "string" && isMessageId(messageId)) return messageId;
  throw new ValidationError(
    "message_id_too_long",
    "messageId",
    `'messageId' must have 1 to ${MAX_MESSAGE_ID_LENGTH} characters.`,
  );
}

function timestampOf(given: unknown, defaults: CallDefaults): string {
  const time = given == null || given === "" ? defaults.now() : parseTimestamp(given);
  if (time !== undefined) return formatTimestamp(time);
  const wanted = "a valid Date or ISO 8601 text such as '2026-01-31T08:30:00.000Z'";
  throw invalid("timestamp", wanted, describeValue(given), "invalid_timestamp");
}

/** The Go library calls the properties of a page its traits (spec 2.3). */
function propertiesOf(type: CallType, call: Fields): object | undefined {
  const properties = object(call, "properties");
  const traits = type === "page" ? object(call, "traits") : undefined;
  if (!properties || !traits) return properties ?? traits;
  // Of what JSON cannot represent, such as a Map, nothing would be left to find.
  assertJson(traits, "traits");
  assertJson(properties, "properties");
  return { ...traits, ...properties };
}

function integrationsOf(call: Fields): object | undefined {
  const integrations = object(call, "integrations");
  if (integrations === undefined) return undefined;
  for (const [name, value] of Object.entries(integrations)) {
    if (typeof value === "boolean" || typeof value === "object" || value === undefined) continue;
    throw invalid(`integrations.${name}`, "true, false or an object", describeValue(value));
  }
  return integrations;
}

/** Whether a field writes itself; see {@link assertJson}. */
function assertFields(call: RecordedCall): boolean {
  let writesItself = false;
  for (const field of OBJECT_FIELDS) {
    const value = call[field];
    if (value !== undefined && assertJson(value, field)) writesItself = true;
  }
  return writesItself;
}
