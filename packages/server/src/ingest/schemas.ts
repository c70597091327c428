import {
  CALL_FIELDS,
  CALL_TYPES,
  MAX_BATCH_MESSAGES,
  MAX_MESSAGE_ID_LENGTH,
  missingField,
  OBJECT_FIELDS,
  TEXT_FIELDS,
  type CallType,
} from "@countersign/protocol";
import { BROKEN_REQUESTS } from "../broken-request.ts";
import { COUNT, object, ref, type Schema, type Schemas, TEXT } from "../open-api/schema.ts";
import { MAX_REJECTIONS_TOLD } from "./record-calls.ts";
import { REFUSALS } from "./refusal.ts";
import { REJECTION_REASONS } from "./rejections.ts";

/** The name of the schema of a single call. */
export function schemaNameOf(type: CallType): string {
  return `${type.charAt(0).toUpperCase()}${type.slice(1)}Call`;
}

/** The name of the schema of a call in a batch. */
function nameInBatch(type: CallType): string {
  return `${schemaNameOf(type)}InBatch`;
}

/** A text, or a number that is read as its digits. Null and an empty text count as absent. */
const GIVEN: Schema = { type: ["string", "number"], minLength: 1 };
const TIME = ref("Time");
const FIELDS = ref("Fields");

type TextField = (typeof TEXT_FIELDS)[number];
type ObjectField = (typeof OBJECT_FIELDS)[number];

const DESCRIPTIONS: Readonly<Record<TextField | ObjectField, string>> = {
  userId: "The id of the user in your own system.",
  anonymousId: "An id of a user who is not known yet.",
  event: "The name of the event, such as Order Completed.",
  name: "The name of the page or screen.",
  category: "The category of the page or screen.",
  groupId: "The id of the group.",
  previousId: "The old identity.",
  messageId:
    "Unique for each call, and the same when it is sent again: by it, and by the content, a repeat is recognised for 24 hours.",
  properties: "Facts about the page, screen or event.",
  traits: "Facts about the user or the group. Those of a page are merged into its `properties`.",
  context:
    "The device, the library and the like. With `direct: true`, the address of the client becomes `ip`.",
  integrations:
    'Which destinations the call is meant for. `{"All": false}` opts out; this one is `Webhooks`.',
};

const SENT_AT: Schema = {
  ...TIME,
  description: "The time of sending, by the clock of the client. With it, a wrong clock is corrected.",
};
const WRITE_KEY: Schema = {
  type: ["string", "null"],
  description: "The write key, for a request without Basic authorization.",
};

/** What calls share, and what they have around them. */
const ENVELOPE: Schemas = {
  timestamp: { ...TIME, description: "When it happened. Without it, the time of arrival." },
  originalTimestamp: { ...TIME, description: "Another name of `timestamp`, which takes precedence." },
  sentAt: SENT_AT,
  writeKey: WRITE_KEY,
};

/** One field of a call that the type has. */
function fieldSchema(field: TextField | ObjectField, required: boolean): Schema {
  const description = DESCRIPTIONS[field];
  if (OBJECT_FIELDS.some((one) => one === field)) return { ...FIELDS, description };
  if (required) return { ...GIVEN, description };
  const isId = field === "messageId";
  return {
    type: ["string", "number", "null"],
    ...(isId && { maxLength: MAX_MESSAGE_ID_LENGTH }),
    description,
  };
}

/** A call, as `normalizeCall` takes it. Fields that its type does not have are ignored. */
function callSchema(type: CallType): Schema {
  const required = requiredFields(type);
  const own = [...TEXT_FIELDS, ...OBJECT_FIELDS].filter((field) => CALL_FIELDS[type][field]);
  const fields = own.map((field) => [field, fieldSchema(field, required.includes(field))]);
  return {
    type: "object",
    properties: { ...Object.fromEntries(fields), ...ENVELOPE },
    ...(required.length > 0 && { required }),
    ...(!required.includes("userId") && { allOf: [IDENTIFIED] }),
  };
}

/** The fields without which a call is rejected, besides an identity: what the rules find missing, until they find nothing more. */
function requiredFields(type: CallType): readonly string[] {
  const given: Record<string, string> = {};
  let missing = missingField(type, given);
  while (missing !== undefined && missing.rule !== "no_user_anon_id") {
    given[missing.field] = "x";
    missing = missingField(type, given);
  }
  return Object.keys(given);
}

/** Has an identity. */
const IDENTIFIED: Schema = {
  anyOf: ["userId", "anonymousId"].map((field) => ({
    type: "object",
    properties: { [field]: GIVEN },
    required: [field],
  })),
};

const CALL_SCHEMAS: Schemas = Object.fromEntries(
  CALL_TYPES.flatMap((type) => [
    [schemaNameOf(type), callSchema(type)],
    [
      nameInBatch(type),
      {
        type: "object",
        properties: { type: { type: "string", const: type } },
        required: ["type"],
        allOf: [ref(schemaNameOf(type))],
      },
    ],
  ]),
);

const BATCH: Schema = {
  type: "object",
  properties: {
    batch: {
      type: "array",
      maxItems: MAX_BATCH_MESSAGES,
      items: {
        oneOf: CALL_TYPES.map((type) => ref(nameInBatch(type))),
        discriminator: {
          propertyName: "type",
          mapping: Object.fromEntries(CALL_TYPES.map((type) => [type, ref(nameInBatch(type))["$ref"]])),
        },
      },
    },
    context: {
      ...FIELDS,
      description: "Merged into the `context` of each call, whose own keys take precedence.",
    },
    integrations: {
      ...FIELDS,
      description: "Merged into the `integrations` of each call, whose own keys take precedence.",
    },
    messageId: {
      type: ["string", "null"],
      maxLength: MAX_MESSAGE_ID_LENGTH,
      description: "With their place in the batch, the identity of the calls that have no `messageId`.",
    },
    sentAt: SENT_AT,
    timestamp: { ...TIME, description: "Another name of `sentAt`, which takes precedence." },
    writeKey: WRITE_KEY,
  },
  required: ["batch"],
};

const FAILED: Schema = { type: "boolean", const: false };
const REASON: Schema = { type: "string", enum: Object.keys(REJECTION_REASONS) };
const ANY: Schema = { type: "object", additionalProperties: true };

/** The schemas of the ingestion API, by the name that `$ref` gives them. */
export const ingestSchemas: Schemas = {
  Batch: BATCH,
  ...CALL_SCHEMAS,
  Time: {
    type: ["string", "number", "null"],
    description: "ISO 8601, UTC unless it has an offset; or a number of seconds or milliseconds since 1970.",
    examples: ["2026-01-31T08:30:00.000Z"],
  },
  Fields: {
    description:
      "An object. `[]`, which some clients write for an empty object, counts as one, and null as absent.",
    anyOf: [ANY, { type: "array", items: {}, maxItems: 0 }, { type: "null" }],
  },
  Success: object({ success: { type: "boolean", const: true } }),
  Error: object(
    {
      success: FAILED,
      code: {
        type: "string",
        enum: Object.keys({ ...REFUSALS, ...BROKEN_REQUESTS }),
        description: "What was wrong, for programs. `countersign explain CODE` explains it.",
      },
      message: { type: "string", description: "What was wrong, for people." },
      detail: { type: "string", description: "What to do." },
    },
    ["detail"],
  ),
  Rejected: object({
    success: FAILED,
    code: { ...REASON, description: "The reason of the first one." },
    message: TEXT,
    rejected: { type: "array", items: ref("RejectedMessage"), maxItems: MAX_REJECTIONS_TOLD },
  }),
  RejectedMessage: object(
    {
      index: { ...COUNT, description: "Its place in the batch." },
      messageId: TEXT,
      reason: REASON,
      detail: { type: "string", description: "What was wrong with it." },
    },
    ["index", "messageId"],
  ),
  ProjectSettings: {
    type: "object",
    properties: {
      integrations: object({
        "Segment.io": {
          type: "object",
          properties: { apiKey: TEXT, apiHost: TEXT, protocol: { type: "string", enum: ["http", "https"] } },
          required: ["apiKey", "apiHost", "protocol"],
        },
      }),
    },
    required: ["integrations"],
  },
  SourceConfig: object({
    source: {
      type: "object",
      properties: { id: TEXT, name: TEXT, writeKey: TEXT, enabled: { type: "boolean" } },
      required: ["id", "name", "writeKey", "enabled"],
    },
  }),
};
