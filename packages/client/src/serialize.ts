import type { CallType } from "./calls.ts";
import { checkJson, tooLarge } from "./check-json.ts";
import { callBytes, utf8Bytes } from "./limits.ts";
import { formatTime, toTimestamp } from "./timestamp.ts";
import { ValidationError } from "./validation-error.ts";

/** A call as it will be sent. Nothing the caller does to their objects afterwards can change it. */
export interface SerializedCall {
  readonly type: CallType;
  readonly messageId: string;
  readonly json: string;
  /** UTF-8 size of `json`. */
  readonly bytes: number;
}

/** What a call gets when it brings none of its own. */
export interface CallDefaults {
  readonly ids: () => string;
  readonly now: () => number;
}

type Fields = Readonly<Record<string, unknown>>;

const shared = ["userId", "anonymousId", "integrations", "context", "timestamp", "messageId"];
const fieldsOf: Readonly<Record<CallType, ReadonlySet<string>>> = {
  identify: new Set([...shared, "traits"]),
  track: new Set([...shared, "event", "properties"]),
  page: new Set([...shared, "name", "category", "traits", "properties"]),
  screen: new Set([...shared, "name", "category", "properties"]),
  group: new Set([...shared, "groupId", "traits"]),
  alias: new Set([...shared, "previousId"]),
};

/**
 * Checks a call by the rules of spec 2.3 and 8 and serialises it, once.
 *
 * @throws ValidationError naming the field at fault.
 */
export function serialize(type: CallType, call: unknown, defaults: CallDefaults): SerializedCall {
  if (typeof call !== "object" || call === null || Array.isArray(call)) {
    throw new ValidationError("message", `You must pass an object to ${type}(), not ${kindOf(call)}.`);
  }
  try {
    return build(type, call as Fields, defaults);
  } catch (error) {
    if (error instanceof ValidationError) throw error;
    // A getter or a toJSON of the caller's threw, or returned what JSON cannot carry.
    throw new ValidationError("message", `This ${type}() call cannot be written as JSON: ${String(error)}.`, {
      cause: error,
    });
  }
}

function build(type: CallType, call: Fields, defaults: CallDefaults): SerializedCall {
  checkNames(type, call);
  const userId = text(call, "userId");
  const anonymousId = text(call, "anonymousId");
  const event = text(call, "event");
  const groupId = text(call, "groupId");
  const previousId = text(call, "previousId");
  checkRequired(type, { userId, anonymousId, event, groupId, previousId });
  const messageId = checkMessageId(text(call, "messageId") ?? defaults.ids());

  // The order of the keys is the order they are sent in; JSON leaves out what is undefined.
  const json = JSON.stringify({
    type,
    messageId,
    timestamp: timestampOf(call, defaults.now()),
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
  });
  const bytes = callBytes(json);
  if (bytes === undefined) throw tooLarge("message", utf8Bytes(json));
  return { type, messageId, json, bytes };
}

/** A misspelt field would otherwise be lost without a word. */
function checkNames(type: CallType, call: Fields): void {
  for (const name of Object.keys(call)) {
    if (!fieldsOf[type].has(name) && call[name] !== undefined) {
      throw new ValidationError(
        name,
        `${type}() has no field '${name}'. It has: ${[...fieldsOf[type]].join(", ")}.`,
      );
    }
  }
}

/** The Go library's rules, in its order and words. */
function checkRequired(type: CallType, given: Fields): void {
  const required = (field: string, words: string): void => {
    if (given[field] === undefined) throw new ValidationError(field, words);
  };
  if (type === "track") required("event", "You must pass 'event'.");
  if (type === "group") required("groupId", "You must pass a 'groupId'.");
  if (type === "alias") {
    required("userId", "You must pass a 'userId'.");
    required("previousId", "You must pass a 'previousId'.");
  } else if (given["userId"] === undefined && given["anonymousId"] === undefined) {
    throw new ValidationError("userId", "You must pass either an 'anonymousId' or 'userId'.");
  }
}

/** A string field; an empty one is a missing one. */
function text(call: Fields, field: string): string | undefined {
  const value = call[field] ?? "";
  if (typeof value !== "string") {
    throw new ValidationError(field, `'${field}' must be a string, not ${kindOf(value)}.`);
  }
  return value === "" ? undefined : value;
}

function object(call: Fields, field: string): object | undefined {
  const value = call[field] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value) || value instanceof Date) {
    throw new ValidationError(field, `'${field}' must be an object, not ${kindOf(value)}.`);
  }
  checkJson(value, field);
  return value;
}

function propertiesOf(type: CallType, call: Fields): object | undefined {
  const properties = object(call, "properties");
  const traits = type === "page" ? object(call, "traits") : undefined;
  return properties && traits ? { ...traits, ...properties } : (properties ?? traits);
}

function integrationsOf(call: Fields): object | undefined {
  const integrations = object(call, "integrations");
  for (const [name, value] of Object.entries(integrations ?? {})) {
    if (value != null && typeof value !== "boolean" && typeof value !== "object") {
      const field = `integrations.${name}`;
      throw new ValidationError(field, `'${field}' must be true, false or an object, not ${kindOf(value)}.`);
    }
  }
  return integrations;
}

function timestampOf(call: Fields, now: number): string {
  const given = call["timestamp"] ?? undefined;
  const timestamp = given === undefined ? formatTime(now) : toTimestamp(given);
  if (timestamp === undefined) {
    throw new ValidationError(
      "timestamp",
      `'timestamp' must be a valid Date or an ISO 8601 string such as '2026-01-31T08:30:00.000Z', not ${kindOf(given)}.`,
    );
  }
  return timestamp;
}

function checkMessageId(messageId: string): string {
  if (typeof messageId === "string" && messageId.length > 0 && messageId.length < 100) return messageId;
  throw new ValidationError("messageId", "'messageId' must have 1 to 99 characters.");
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
