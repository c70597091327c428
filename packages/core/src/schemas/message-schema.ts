import type { JsonObject, JsonValue } from "@countersign/protocol";
import { MESSAGE_RULES, type FieldKind, type MessageRule } from "../messages/message-fields.ts";
import type { MessageType } from "../messages/messages.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/**
 * The JSON Schema (2020-12) of the messages, made from the table that `parseMessage` uses: both accept and reject the
 * same messages. Both accept fields that are not listed.
 *
 * @param type - One message type. Default: any of the seven, as `oneOf` over `$defs`.
 * @returns A new schema: you may change it.
 * @throws TypeError if the type is not one of the seven.
 * @example
 * ```ts
 * import { Ajv2020 } from "ajv/dist/2020.js";
 *
 * const validate = new Ajv2020().compile(messageSchema());
 * if (!validate(JSON.parse(text))) console.error(validate.errors);
 * ```
 */
export function messageSchema(type?: MessageType): Record<string, JsonValue> {
  if (type === undefined) {
    return { $schema: DIALECT, ...unionSchema("#/$defs/"), $defs: typeSchemas() };
  }
  if (!Object.hasOwn(MESSAGE_RULES, type)) throw new TypeError(`Unknown message type "${type}".`);
  return { $schema: DIALECT, ...typeSchema(type) };
}

/** Any of the seven, by reference. */
export function unionSchema(base: string): JsonObject {
  return {
    title: "WebhookMessage",
    description: "One of the seven messages, distinguished by type.",
    oneOf: TYPES.map((type) => ({ $ref: base + schemaName(type) })),
  };
}

/** The seven types. */
export const TYPES: readonly MessageType[] = Object.keys(MESSAGE_RULES) as MessageType[];

/** The name of a type's schema, which is the name of its TypeScript interface. */
export function schemaName(type: MessageType): string {
  return `${type.slice(0, 1).toUpperCase()}${type.slice(1)}Message`;
}

/** The schema of each type, by its name. */
export function typeSchemas(): JsonObject {
  return Object.fromEntries(TYPES.map((type) => [schemaName(type), typeSchema(type)]));
}

function typeSchema(type: MessageType): JsonObject {
  const { fields, required } = MESSAGE_RULES[type];
  const always = required.flatMap((spellings) => (spellings.length === 1 ? spellings : []));
  const oneOfSeveral = required.filter((spellings) => spellings.length > 1);
  return {
    title: schemaName(type),
    description: DESCRIPTION[type],
    type: "object",
    required: ["type", ...always],
    properties: { type: { const: type }, ...fieldSchemas(fields, always) },
    ...(oneOfSeveral.length > 0 ? { allOf: oneOfSeveral.map(atLeastOne) } : {}),
  };
}

function fieldSchemas(fields: MessageRule["fields"], always: readonly string[]): JsonObject {
  const entries = Object.entries(fields).map(([name, kind]) => {
    const description = FIELD_DESCRIPTION[name];
    const schema = always.includes(name) ? nonEmptyText() : fieldSchema(kind);
    return [name, { ...(description === undefined ? {} : { description }), ...schema }] as const;
  });
  return Object.fromEntries(entries);
}

// A field that is null counts as absent.
function fieldSchema(kind: FieldKind): JsonObject {
  return { type: [kind, "null"] };
}

function nonEmptyText(): JsonObject {
  return { type: "string", minLength: 1 };
}

function atLeastOne(spellings: readonly string[]): JsonObject {
  return {
    anyOf: spellings.map((name) => ({ required: [name], properties: { [name]: nonEmptyText() } })),
  };
}

const DESCRIPTION: Readonly<Record<MessageType, string>> = {
  page: "A web page was viewed.",
  screen: "A screen of a mobile app was viewed.",
  identify:
    "A user was recognised, or a trait of theirs changed; audiences and computed traits come as this type, too.",
  track: "A user did something.",
  alias: "Two identities are one user. Either spelling of each is accepted.",
  group: "A user belongs to a group: a company, a team.",
  delete: "A user's data is to be deleted.",
};

const FIELD_DESCRIPTION: Readonly<Record<string, string>> = {
  version: "Version of the message format: 1. Absent on delete.",
  messageId: "Unique for each recorded call; the same on every repeat of it.",
  userId: "The user's id in your own system.",
  anonymousId: "An id for an anonymous user.",
  timestamp: "When it happened: ISO 8601, UTC, milliseconds.",
  context: "Device, IP address and the like. Its contents are not checked.",
  integrations: "Which destinations the call was meant for.",
  name: "Name of the page or screen.",
  category: "Category of the page or screen.",
  properties:
    "Free-form facts about the page, screen or event. Those of a page usually have path, referrer, title and url. The contents are not checked.",
  traits: "Free-form facts about the user or group. The contents are not checked.",
  event: "Name of the event, such as Order Completed.",
  groupId: "Id of the group.",
  "Previous ID": "The previous identity.",
  previousId: "The previous identity, in camel case.",
  "User ID": "The new identity.",
};
