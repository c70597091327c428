import { INCLUDABLE_FIELDS } from "@countersign/sender";
import { ref, type Schema, type Schemas } from "../operation.ts";
import { TEXT, COUNT, TEXTS, HEADERS, object } from "./parts.ts";

const INCLUDE_FIELDS: Schema = { type: "array", items: { type: "string", enum: [...INCLUDABLE_FIELDS] } };

const endpoint = object({ url: TEXT, headers: HEADERS, ca: { anyOf: [TEXT, TEXTS] } }, ["headers", "ca"]);

/** Sources and destinations. */
export const settingsSchemas: Schemas = {
  Endpoint: endpoint,
  Destination: object(
    {
      name: TEXT,
      endpoints: { type: "array", items: ref("Endpoint") },
      signed: { type: "boolean" },
      enabled: { type: "boolean" },
      includeFields: INCLUDE_FIELDS,
      concurrency: COUNT,
    },
    ["includeFields", "concurrency"],
  ),
  Source: object(
    {
      name: TEXT,
      writeKey: TEXT,
      destinations: { type: "array", items: ref("Destination") },
      blockedEvents: TEXTS,
      countFiltered: { type: "boolean" },
      managedBy: { type: "string", enum: ["config", "api"] },
      note: { type: "string", description: "After a change: why the change is lost at a restart, if it is." },
    },
    ["note"],
  ),
  Removed: object({ note: { type: "string", description: "Why it returns after a restart, if it does." } }, [
    "note",
  ]),
};

export const DESTINATION_BODY: Schema = object(
  {
    name: { type: "string", description: "As it was read. A name cannot be changed." },
    endpoints: { type: "array", items: endpoint },
    secret: {
      type: ["string", "null"],
      description: "Absent: unchanged. null: no secret, so messages are not signed.",
    },
    signed: { type: "boolean", description: "As it was read. `secret` changes it." },
    enabled: { type: "boolean" },
    includeFields: {
      ...INCLUDE_FIELDS,
      description: "Fields to send besides those of the documented message. Default: none.",
    },
    concurrency: { type: "integer", minimum: 1 },
  },
  ["name", "secret", "signed", "enabled", "includeFields", "concurrency"],
);

export const SOURCE_BODY: Schema = object(
  { writeKey: TEXT, blockedEvents: TEXTS, countFiltered: { type: "boolean" } },
  ["writeKey", "blockedEvents", "countFiltered"],
);
