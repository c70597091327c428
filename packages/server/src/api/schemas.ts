import { faults } from "@countersign/sender";
import { REJECTION_REASONS } from "../ingest/rejection-reasons.ts";
import { ref, type Schema } from "./operation.ts";

const text: Schema = { type: "string" };
const dateTime: Schema = { type: "string", format: "date-time" };
const count: Schema = { type: "integer", minimum: 0 };
const number: Schema = { type: "number" };
const texts: Schema = { type: "array", items: text };
const headers: Schema = { type: "object", additionalProperties: text };

function object(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

const deliverySummary = {
  id: text,
  messageId: text,
  type: { type: "string", enum: ["page", "screen", "identify", "track", "alias", "group", "delete"] },
  event: text,
  source: text,
  destination: text,
  identity: text,
  state: { type: "string", enum: ["pending", "delivered", "failed", "expired"] },
  acceptedAt: dateTime,
  dueAt: dateTime,
  endedAt: dateTime,
  attempts: { type: "array", items: ref("Attempt") },
};

const endpoint = object({ url: text, headers, ca: { anyOf: [text, texts] } }, ["headers", "ca"]);

/** The schemas that the answers and bodies of the control API are made of. */
export const schemas: Readonly<Record<string, Schema>> = {
  Problem: object({ type: text, title: text, status: count, detail: text }),
  Attempt: object(
    {
      round: count,
      endpoint: text,
      startedAt: dateTime,
      durationMs: number,
      outcome: { type: "string", enum: ["success", "server_error", "timeout", "network", "rejected", "tls"] },
      status: count,
      code: text,
      message: text,
      response: text,
      fault: text,
    },
    ["status", "code", "message", "fault"],
  ),
  Delivery: object(deliverySummary, ["event", "dueAt", "endedAt"]),
  DeliveryDetail: object({ ...deliverySummary, body: text, signature: text, curl: text }, [
    "event",
    "dueAt",
    "endedAt",
    "signature",
    "curl",
  ]),
  Endpoint: endpoint,
  Destination: object(
    {
      name: text,
      endpoints: { type: "array", items: ref("Endpoint") },
      signed: { type: "boolean" },
      enabled: { type: "boolean" },
      concurrency: count,
    },
    ["concurrency"],
  ),
  Source: object({
    name: text,
    writeKey: text,
    destinations: { type: "array", items: ref("Destination") },
    blockedEvents: texts,
    countFiltered: { type: "boolean" },
  }),
  Rejection: object(
    {
      id: count,
      receivedAt: dateTime,
      source: text,
      reason: { type: "string", enum: Object.keys(REJECTION_REASONS) },
      detail: text,
      index: count,
      type: text,
      messageId: text,
      message: text,
    },
    ["source", "index", "type", "messageId"],
  ),
  Fault: object({
    id: count,
    fault: { type: "string", enum: [...faults, "rate_limit"] },
    scope: { type: "object" },
    remaining: { anyOf: [count, { const: "unlimited" }] },
  }),
  Clock: object({ kind: { type: "string", enum: ["system", "virtual"] }, now: dateTime }),
  Receipt: object({ messageId: text, deliveries: texts, skipped: text }, ["skipped"]),
  SyncReceipt: object({ changed: texts, removed: texts, deliveries: texts }),
};

type BodyName = "destination" | "source" | "fault" | "clock" | "audience" | "computedTrait" | "deletion";

/** Bodies that callers send. */
export const bodies: Readonly<Record<BodyName, Schema>> = {
  destination: object(
    {
      endpoints: { type: "array", items: endpoint },
      sharedSecret: {
        type: ["string", "null"],
        description: "Absent: as before. null: none, so that messages are not signed.",
      },
      enabled: { type: "boolean" },
      concurrency: { type: "integer", minimum: 1 },
    },
    ["sharedSecret", "enabled", "concurrency"],
  ),
  source: object({ writeKey: text, blockedEvents: texts, countFiltered: { type: "boolean" } }, [
    "writeKey",
    "blockedEvents",
    "countFiltered",
  ]),
  fault: object(
    {
      fault: { type: "string", enum: [...faults, "rate_limit"] },
      times: {
        anyOf: [{ type: "integer", minimum: 1 }, { const: "unlimited" }],
        description: "How many times it strikes. Default: 1.",
      },
      endpoint: { type: "string", description: "URL of the endpoint it strikes." },
      deliveryId: text,
      messageId: text,
      seconds: {
        type: "integer",
        minimum: 1,
        description: "Of a rate_limit: what Retry-After says. Default: 1.",
      },
    },
    ["times", "endpoint", "deliveryId", "messageId", "seconds"],
  ),
  clock: object({ advance: { type: ["string", "number"], description: "Such as `4h`, or milliseconds." } }),
  audience: object({ userIds: texts, source: text }, ["source"]),
  computedTrait: object({ values: { type: "object" }, source: text }, ["source"]),
  deletion: object({ userId: { type: "string", minLength: 1 }, sources: texts }, ["sources"]),
};
