import { isObject, nameKind } from "@countersign/protocol/json";
import type { WebhookErrorCode } from "../errors.ts";

/**
 * The checks of a message, as data. Parsing and the published JSON Schema both use this table (spec 2.2).
 * A field that is null counts as absent.
 */

/** The kind of value of a field. The contents of an object are not checked. */
export type FieldKind = "string" | "number" | "object";

/** The checks of one message type. */
export interface MessageRule {
  readonly fields: Readonly<Record<string, FieldKind>>;
  /** Each list has the spellings of one required field. At least one of them must be non-empty text. */
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

type MessageType = "page" | "screen" | "identify" | "track" | "alias" | "group" | "delete";

const VIEW: MessageRule = {
  fields: { ...COMMON, name: "string", category: "string", properties: "object" },
  required: [USER],
};

/** The rule of each message type. */
export const MESSAGE_RULES: Readonly<Record<MessageType, MessageRule>> = {
  page: VIEW,
  screen: VIEW,
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

/**
 * Why a value is not one of the seven messages: a code, and a sentence that is safe to show to the caller, where that of the code
 * does not say it.
 */
export interface MessageFault {
  readonly code: WebhookErrorCode;
  readonly message?: string;
}

type FieldEntries = readonly (readonly [name: string, kind: FieldKind])[];

// Listed once, because every message is checked against them.
const COMMON_ENTRIES: FieldEntries = Object.entries(COMMON);
const FIELD_ENTRIES: ReadonlyMap<string, FieldEntries> = new Map(
  Object.entries(MESSAGE_RULES).map(([type, { fields }]) => [type, Object.entries(fields)]),
);

/** The first thing that is wrong with the fields that messages of every type share, or undefined if nothing is. */
export function checkCommonFields(value: unknown): MessageFault | undefined {
  return isObject(value) ? checkFields(value, COMMON_ENTRIES, "the message") : undefined;
}

/** The first thing that is wrong with a value as a message, or undefined if nothing is. */
export function checkMessage(value: unknown): MessageFault | undefined {
  if (Array.isArray(value)) return { code: "ERR_BATCH_UNSUPPORTED" };
  if (!isObject(value)) return invalid(`The message must be a JSON object, but is ${describe(value)}.`);
  const type = own(value, "type");
  if (typeof type !== "string") return invalid(`Field "type" must be a string, but is ${describe(type)}.`);
  const fields = FIELD_ENTRIES.get(type);
  if (fields === undefined) {
    return {
      code: "ERR_UNKNOWN_TYPE",
      message: `The message type must be one of ${Object.keys(MESSAGE_RULES).join(", ")}.`,
    };
  }
  const { required } = MESSAGE_RULES[type as MessageType];
  return checkFields(value, fields, type) ?? checkRequired(value, required, type);
}

function checkFields(
  message: Record<string, unknown>,
  fields: FieldEntries,
  where: string,
): MessageFault | undefined {
  for (const [name, kind] of fields) {
    const value = message[name];
    if (value == null || (kind === "object" ? isObject(value) : typeof value === kind)) continue;
    if (!Object.hasOwn(message, name)) continue;
    const wanted = kind === "object" ? "an object" : `a ${kind}`;
    return invalid(`Field "${name}" of ${where} must be ${wanted}, but is ${describe(value)}.`);
  }
  return undefined;
}

function checkRequired(
  message: Record<string, unknown>,
  required: MessageRule["required"],
  type: string,
): MessageFault | undefined {
  for (const spellings of required) {
    const there = spellings.some((name) => {
      const value = message[name];
      return typeof value === "string" && value !== "" && Object.hasOwn(message, name);
    });
    if (!there) {
      const names = spellings.map((name) => `"${name}"`).join(" or ");
      return invalid(`A message of type ${type} must have a non-empty ${names}.`);
    }
  }
  return undefined;
}

function describe(value: unknown): string {
  return value === undefined ? "missing" : nameKind(value);
}

function invalid(message: string): MessageFault {
  return { code: "ERR_INVALID_MESSAGE", message };
}

// A key named __proto__ must not lend a message fields that it does not have itself.
function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
