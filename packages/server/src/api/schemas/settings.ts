import { INCLUDABLE_FIELDS } from "@countersign/sender";
import { ref, type Schema, type Schemas } from "../operation.ts";
import { TEXT, COUNT, TEXTS, HEADERS, object } from "./parts.ts";

const INCLUDE_FIELDS: Schema = { type: "array", items: { type: "string", enum: [...INCLUDABLE_FIELDS] } };

const endpoint = object({ url: TEXT, headers: HEADERS, ca: { anyOf: [TEXT, TEXTS] } }, ["headers", "ca"]);

/** A destination as it is shown, with endpoints of this schema: bodies are checked without the document, and so have no references. */
function destinationWith(shownEndpoint: Schema): Schema {
  return object(
    {
      name: TEXT,
      endpoints: { type: "array", items: shownEndpoint },
      signed: { type: "boolean" },
      enabled: { type: "boolean" },
      includeFields: INCLUDE_FIELDS,
      concurrency: COUNT,
    },
    ["includeFields", "concurrency"],
  );
}

const MANAGED_BY: Schema = { type: "string", enum: ["config", "api"] };

/** Sources and destinations. */
export const settingsSchemas: Schemas = {
  Endpoint: endpoint,
  Destination: destinationWith(ref("Endpoint")),
  Source: object(
    {
      name: TEXT,
      writeKey: TEXT,
      destinations: { type: "array", items: ref("Destination") },
      blockedEvents: TEXTS,
      countFiltered: { type: "boolean" },
      managedBy: MANAGED_BY,
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
  {
    name: { type: "string", description: "As it was read. A name cannot be changed." },
    writeKey: TEXT,
    destinations: {
      type: "array",
      items: destinationWith(endpoint),
      description: "As they were read. Each has operations of its own.",
    },
    blockedEvents: TEXTS,
    countFiltered: { type: "boolean" },
    managedBy: { ...MANAGED_BY, description: "As it was read." },
    note: { type: "string", description: "Of the answer to a change; it has no effect." },
  },
  ["name", "writeKey", "destinations", "blockedEvents", "countFiltered", "managedBy", "note"],
);
