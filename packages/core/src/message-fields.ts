import { isObject } from "./json.ts";
import type { WebhookErrorCode } from "./errors.ts";

/**
 * What is checked of a message, as data: parsing and the published JSON Schema both come from this one table (spec 2.2).
 * A field that is null counts as absent.
 */

/** The kind of value a field holds. `page` is an object whose four documented properties are text. */
export type FieldKind = "string" | "number" | "object" | "page";

/** What is checked of one message type. */
export interface MessageRule {
  readonly fields: Readonly<Record<string, FieldKind>>;
  /** Each list holds the spellings of one thing that must be there, as non-empty text, in at least one of them. */
  readonly required: readonly (readonly string[])[];
}

const COMMON = {
  version: "number",
  messageId: "string",
  userId: "string",
  anonymousId: "string",
  timestamp: "string",
  context: "object",
  integrations: "object",
} as const;

const USER = ["userId", "anonymousId"];

/** The rule of each message type. */
export const MESSAGE_RULES: Readonly<
  Record<"page" | "screen" | "identify" | "track" | "alias" | "group" | "delete", MessageRule>
> = {
  page: { fields: { ...COMMON, name: "string", category: "string", properties: "page" }, required: [USER] },
  screen: {
    fields: { ...COMMON, name: "string", category: "string", properties: "object" },
    required: [USER],
  },
  identify: { fields: { ...COMMON, traits: "object" }, required: [USER] },
  track: { fields: { ...COMMON, event: "string", properties: "object" }, required: [["event"], USER] },
  alias: {
    fields: { ...COMMON, "Previous ID": "string", "User ID": "string", previousId: "string" },
    required: [
      ["Previous ID", "previousId"],
      ["User ID", "userId"],
    ],
  },
  group: { fields: { ...COMMON, groupId: "string", traits: "object" }, required: [["groupId"], USER] },
  delete: { fields: COMMON, required: [["userId"]] },
};

/** The documented properties of a page, all of them text. */
export const PAGE_PROPERTIES: readonly string[] = ["path", "referrer", "title", "url"];

/** Why a value is not one of the seven messages: a code and a sentence that is safe to show to the caller. */
export interface MessageFault {
  readonly code: WebhookErrorCode;
  readonly message: string;
}

/** The first thing that is wrong with the fields that messages of every type share, or undefined where nothing is. */
export function checkCommonFields(value: unknown): MessageFault | undefined {
  return isObject(value) ? checkFields(value, COMMON, "the message") : undefined;
}

/** The first thing that is wrong with a value as a message, or undefined where nothing is. */
export function checkMessage(value: unknown): MessageFault | undefined {
  if (Array.isArray(value)) {
    return {
      code: "ERR_BATCH_UNSUPPORTED",
      message: "The body is an array; send one message in each request.",
    };
  }
  if (!isObject(value)) return invalid(`The message must be a JSON object, but is ${nameKind(value)}.`);
  const type = own(value, "type");
  if (typeof type !== "string") return invalid(`Field "type" must be a string, but is ${nameKind(type)}.`);
  const rule: MessageRule | undefined = Object.hasOwn(MESSAGE_RULES, type)
    ? MESSAGE_RULES[type as keyof typeof MESSAGE_RULES]
    : undefined;
  if (rule === undefined) {
    return {
      code: "ERR_UNKNOWN_TYPE",
      message: `The message type must be one of ${Object.keys(MESSAGE_RULES).join(", ")}.`,
    };
  }
  return checkFields(value, rule.fields, type) ?? checkRequired(value, rule.required, type);
}

function checkFields(
  message: Record<string, unknown>,
  fields: MessageRule["fields"],
  where: string,
): MessageFault | undefined {
  for (const [name, kind] of Object.entries(fields)) {
    const value = own(message, name);
    if (value == null) continue;
    const fits = kind === "string" || kind === "number" ? typeof value === kind : isObject(value);
    if (!fits) {
      const wanted = kind === "string" ? "a string" : kind === "number" ? "a number" : "an object";
      return invalid(`Field "${name}" of ${where} must be ${wanted}, but is ${nameKind(value)}.`);
    }
    if (kind === "page") {
      const fault = checkFields(value as Record<string, unknown>, PAGE_FIELDS, `${where}.${name}`);
      if (fault) return fault;
    }
  }
  return undefined;
}

const PAGE_FIELDS: MessageRule["fields"] = Object.fromEntries(
  PAGE_PROPERTIES.map((name) => [name, "string"]),
);

function checkRequired(
  message: Record<string, unknown>,
  required: MessageRule["required"],
  type: string,
): MessageFault | undefined {
  for (const spellings of required) {
    const there = spellings.some(
      (name) => typeof own(message, name) === "string" && own(message, name) !== "",
    );
    if (!there) {
      const names = spellings.map((name) => `"${name}"`).join(" or ");
      return invalid(`A message of type ${type} must have a non-empty ${names}.`);
    }
  }
  return undefined;
}

function invalid(message: string): MessageFault {
  return { code: "ERR_INVALID_MESSAGE", message };
}

// A key named __proto__ must not lend a message fields that it does not have itself.
function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function nameKind(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
