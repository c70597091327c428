import {
  ATTEMPT_OUTCOMES,
  DEFAULT_LIMIT,
  DELIVERY_STATES,
  MAX_LIMIT,
  MESSAGE_TYPES,
  SKIP_REASONS,
} from "@countersign/sender/store";
import type { Schema, Schemas } from "../operation.ts";
import { DATE_TIME, TEXT } from "./parts.ts";

function list(items: Schema, description?: string): Schema {
  return { type: "array", items, ...(description !== undefined && { description }) };
}

const TIMES: Schemas = {
  since: { ...DATE_TIME, description: "Accepted at this time or later." },
  until: { ...DATE_TIME, description: "Accepted before this time." },
};

/** Which deliveries are meant. Every parameter given must match; of one that is repeated, any value. */
export const FILTER_PARAMETERS: Schemas = {
  state: list({ type: "string", enum: [...DELIVERY_STATES] }),
  source: list(TEXT),
  destination: list(TEXT, "`<source>/<destination>`."),
  type: list({ type: "string", enum: [...MESSAGE_TYPES] }),
  messageId: list(TEXT),
  identity: list(TEXT, "The `userId` or `anonymousId`."),
  event: list(TEXT, "Name of a track event."),
  outcome: list({ type: "string", enum: [...ATTEMPT_OUTCOMES] }, "How the last attempt ended."),
  status: list({ type: "integer" }, "Status of the response to the last attempt."),
  endpoint: list(TEXT, "URL of the last attempt."),
  q: {
    type: "string",
    description:
      "The id of a delivery, a messageId, a userId or anonymousId, or the beginning of an event's name. Upper and lower case differ.",
  },
  ...TIMES,
};

/** Which page of a list. */
export const PAGE_PARAMETERS: Schemas = {
  after: { type: "string", description: "`next` of the previous page." },
  limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
};

/** Which skipped calls are meant. */
export const SKIPPED_PARAMETERS: Schemas = {
  source: list(TEXT),
  reason: list({ type: "string", enum: [...SKIP_REASONS] }),
  q: {
    type: "string",
    description:
      "A messageId, a userId or anonymousId, or the beginning of an event's name. Upper and lower case differ.",
  },
  ...TIMES,
};

/** The filter in a JSON body: a list may be a single value. */
export const FILTER_BODY: Schema = {
  type: "object",
  properties: Object.fromEntries(
    Object.entries(FILTER_PARAMETERS).map(([name, schema]) => [
      name,
      schema["type"] === "array" ? { anyOf: [schema["items"], { ...schema, maxItems: 1_000 }] } : schema,
    ]),
  ),
  additionalProperties: false,
};
