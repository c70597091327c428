import { LANGUAGES } from "@countersign/certify";
import { INCLUDABLE_FIELDS } from "@countersign/sender";
import { FAULT_PATTERN, FAULTS } from "@countersign/sender/faults";
import { FILTER_BODY, OUTCOMES, SKIP_REASONS, STATES, TYPES } from "./delivery-filter.ts";
import { REJECTION_REASONS } from "../ingest/rejection-reasons.ts";
import { ref, type Schema } from "./operation.ts";

const TEXT: Schema = { type: "string" };
const DATE_TIME: Schema = { type: "string", format: "date-time" };
const COUNT: Schema = { type: "integer", minimum: 0 };
const NUMBER: Schema = { type: "number" };
const TEXTS: Schema = { type: "array", items: TEXT };
const BASE64: Schema = { type: "string", contentEncoding: "base64", pattern: "^[A-Za-z0-9+/]*={0,2}$" };
const HEADERS: Schema = { type: "object", additionalProperties: TEXT };

function object(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

const CURSOR: Schema = { type: "string", description: "Give it as `after` for the next page." };
const LEVEL: Schema = { type: "string", enum: ["MUST", "SHOULD"] };
const TALLY = object({ passed: COUNT, failed: COUNT, skipped: COUNT });

const ATTEMPT_SUMMARY = {
  round: COUNT,
  endpoint: TEXT,
  startedAt: DATE_TIME,
  durationMs: NUMBER,
  outcome: { type: "string", enum: [...OUTCOMES] },
  status: COUNT,
  code: TEXT,
  message: TEXT,
  fault: TEXT,
};
const ABSENT_IN_ATTEMPT = ["status", "code", "message", "fault"];

const FAULT_OF_SENDER: Schema = {
  type: "string",
  anyOf: [{ enum: [...FAULTS] }, { pattern: FAULT_PATTERN }],
};
const FAULT: Schema = {
  type: "string",
  anyOf: [{ enum: [...FAULTS, "rate_limit"] }, { pattern: FAULT_PATTERN }],
};

const DELIVERY_SUMMARY = {
  id: TEXT,
  messageId: TEXT,
  type: { type: "string", enum: [...TYPES] },
  event: TEXT,
  source: TEXT,
  destination: TEXT,
  identity: TEXT,
  state: { type: "string", enum: [...STATES] },
  acceptedAt: DATE_TIME,
  dueAt: DATE_TIME,
  endedAt: DATE_TIME,
  attempts: { ...COUNT, description: "How many there were." },
  last: ref("AttemptSummary"),
  resendOf: { type: "string", description: "Id of the delivery that it repeats." },
};
const ABSENT_IN_SUMMARY = ["event", "dueAt", "endedAt", "last", "resendOf"];

const INCLUDE_FIELDS: Schema = { type: "array", items: { type: "string", enum: [...INCLUDABLE_FIELDS] } };

const endpoint = object({ url: TEXT, headers: HEADERS, ca: { anyOf: [TEXT, TEXTS] } }, ["headers", "ca"]);

/** The schemas that the answers and bodies of the control API are made of. */
export const schemas: Readonly<Record<string, Schema>> = {
  Problem: object(
    { type: TEXT, title: TEXT, status: COUNT, detail: TEXT, errors: { type: "array", items: ref("Issue") } },
    ["errors"],
  ),
  Issue: object(
    {
      pointer: {
        type: "string",
        description: "Where in the body, as a JSON pointer; empty for the whole of it.",
      },
      parameter: { type: "string", description: "Which parameter of the query string." },
      detail: TEXT,
      rule: { type: "string", description: "The rule that a call breaks, as in the rejections." },
    },
    ["pointer", "parameter", "rule"],
  ),
  AttemptSummary: object(ATTEMPT_SUMMARY, ABSENT_IN_ATTEMPT),
  Attempt: object(
    {
      ...ATTEMPT_SUMMARY,
      response: { type: "string", description: "The first 16 KiB of the body." },
      cut: { const: true, description: "The body was longer." },
      requestHeaders: {
        ...HEADERS,
        description: "As sent, the signature included; values of static headers are hidden.",
      },
      responseHeaders: HEADERS,
    },
    [...ABSENT_IN_ATTEMPT, "cut", "requestHeaders", "responseHeaders"],
  ),
  DeliverySummary: object(DELIVERY_SUMMARY, ABSENT_IN_SUMMARY),
  DeliveryPage: object({ deliveries: { type: "array", items: ref("DeliverySummary") }, next: CURSOR }, [
    "next",
  ]),
  DeliveryDetail: object(
    {
      ...DELIVERY_SUMMARY,
      history: { type: "array", items: ref("Attempt"), description: "Every attempt, oldest first." },
      body: TEXT,
      bodyBase64: { ...BASE64, description: "Only when the body is not UTF-8." },
      bytes: COUNT,
      signature: { type: "string", description: "Of the body, with the secret that is set today." },
      curls: { type: "array", items: object({ endpoint: TEXT, curl: TEXT }) },
    },
    [...ABSENT_IN_SUMMARY, "bodyBase64", "signature"],
  ),
  Count: object({ count: COUNT }),
  Cleared: object({ removed: COUNT }),
  Retried: object({ id: TEXT }),
  ResendJob: object(
    {
      id: TEXT,
      filter: FILTER_BODY,
      state: { type: "string", enum: ["running", "done", "cancelled", "failed"] },
      matched: COUNT,
      resent: COUNT,
      startedAt: DATE_TIME,
      endedAt: DATE_TIME,
      error: TEXT,
    },
    ["endedAt", "error"],
  ),
  SkippedCall: object(
    {
      id: TEXT,
      messageId: TEXT,
      type: { type: "string", enum: [...TYPES] },
      event: TEXT,
      source: TEXT,
      identity: TEXT,
      reason: { type: "string", enum: [...SKIP_REASONS] },
      acceptedAt: DATE_TIME,
    },
    ["event"],
  ),
  SkippedPage: object({ calls: { type: "array", items: ref("SkippedCall") }, next: CURSOR }, ["next"]),
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
  Rejection: object(
    {
      id: COUNT,
      receivedAt: DATE_TIME,
      source: TEXT,
      reason: { type: "string", enum: Object.keys(REJECTION_REASONS) },
      detail: TEXT,
      index: COUNT,
      type: TEXT,
      messageId: TEXT,
      message: TEXT,
    },
    ["source", "index", "type", "messageId"],
  ),
  Warning: object(
    {
      receivedAt: DATE_TIME,
      source: TEXT,
      reason: { type: "string", enum: ["unsafe_integer"] },
      detail: TEXT,
      paths: TEXTS,
      index: COUNT,
      type: TEXT,
      messageId: TEXT,
    },
    ["index", "messageId"],
  ),
  Fault: object({
    id: COUNT,
    fault: FAULT,
    scope: { type: "object" },
    remaining: { anyOf: [COUNT, { const: "unlimited" }] },
  }),
  Status: object({
    version: TEXT,
    run: { type: "string", description: "Differs after each start; ids of events begin with it." },
    startedAt: DATE_TIME,
    now: DATE_TIME,
    clock: { type: "string", enum: ["system", "virtual"] },
    delivers: { type: "boolean", description: "Whether this server sends what it accepts." },
    kept: { type: "string", enum: ["disk", "memory", "shared"] },
    store: object({ state: { type: "string", enum: ["up", "down", "unsafe", "full"] }, reason: TEXT }, [
      "reason",
    ]),
    budgetMs: NUMBER,
    retryWindowMs: NUMBER,
    recording: { type: "boolean" },
    faults: TEXTS,
    certify: { type: "boolean" },
  }),
  Stats: object({
    sources: { type: "array", items: object({ source: TEXT, usage: COUNT }) },
    destinations: {
      type: "array",
      items: object(
        {
          destination: TEXT,
          enabled: { type: "boolean" },
          configured: { type: "boolean" },
          pending: COUNT,
          delivered: COUNT,
          failed: COUNT,
          expired: COUNT,
          oldestPendingAt: DATE_TIME,
          nextDueAt: DATE_TIME,
        },
        ["oldestPendingAt", "nextDueAt"],
      ),
    },
    endpoints: {
      type: "array",
      items: object(
        {
          destination: TEXT,
          url: TEXT,
          outcomes: object(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, COUNT]))),
          failures: { ...COUNT, description: "How many of the last attempts failed in a row." },
          failingSince: DATE_TIME,
          responseTimes: object({
            bounds: { type: "array", items: NUMBER },
            counts: { type: "array", items: COUNT },
            overBudget: COUNT,
            nearMisses: { ...COUNT, description: "Successes that took more than four fifths of the time." },
            count: COUNT,
            sumMs: NUMBER,
          }),
        },
        ["failingSince"],
      ),
    },
    minutes: {
      type: "array",
      items: object({
        at: DATE_TIME,
        accepted: COUNT,
        attempts: COUNT,
        failures: COUNT,
        nearMisses: COUNT,
        delivered: COUNT,
        failed: COUNT,
        expired: COUNT,
      }),
    },
  }),
  Reachability: object(
    {
      destination: TEXT,
      url: TEXT,
      reachable: { type: "boolean" },
      code: TEXT,
      message: TEXT,
      durationMs: NUMBER,
    },
    ["code", "message"],
  ),
  Explanation: object(
    {
      matches: { type: "boolean" },
      sentence: TEXT,
      diagnoses: { type: "array", items: object({ code: TEXT, message: TEXT }) },
      expected: {
        type: "string",
        description: "The right signature; not for a body with a destination's secret.",
      },
    },
    ["expected"],
  ),
  MessageCheck: object({ valid: { type: "boolean" }, errors: { type: "array", items: ref("Issue") } }),
  Audit: object({ id: TEXT, level: LEVEL, title: TEXT }),
  AuditResult: object(
    {
      id: TEXT,
      level: LEVEL,
      title: TEXT,
      outcome: { type: "string", enum: ["passed", "failed", "skipped"] },
      durationMs: NUMBER,
      failure: object({ cause: TEXT, sent: TEXT, expected: TEXT, received: TEXT, fix: TEXT }),
      reason: TEXT,
    },
    ["failure", "reason"],
  ),
  Certification: object(
    {
      id: TEXT,
      url: TEXT,
      state: { type: "string", enum: ["running", "done", "cancelled", "failed"] },
      startedAt: DATE_TIME,
      endedAt: DATE_TIME,
      total: COUNT,
      tally: object({ MUST: TALLY, SHOULD: TALLY }),
      passed: { type: "boolean" },
      results: { type: "array", items: ref("AuditResult") },
      error: TEXT,
    },
    ["endedAt", "passed", "error"],
  ),
  Clock: object(
    { kind: { type: "string", enum: ["system", "virtual"] }, now: DATE_TIME, nextDueAt: DATE_TIME },
    ["nextDueAt"],
  ),
  Receipt: object({ messageId: TEXT, deliveries: TEXTS, skipped: TEXT }, ["skipped"]),
  SyncReceipt: object({ changed: TEXTS, removed: TEXTS, deliveries: TEXTS }),
};

type BodyName =
  | "resend"
  | "resendAll"
  | "verify"
  | "certify"
  | "destination"
  | "source"
  | "fault"
  | "clock"
  | "audience"
  | "computedTrait"
  | "deletion";

/** Bodies that callers send. */
export const bodies: Readonly<Record<BodyName, Schema>> = {
  resend: object(
    {
      body: { type: "string", description: "Sent in place of the original bytes." },
      bodyBase64: BASE64,
      fault: FAULT_OF_SENDER,
    },
    ["body", "bodyBase64", "fault"],
  ),
  resendAll: object({ filter: FILTER_BODY }),
  verify: object(
    {
      body: TEXT,
      bodyBase64: BASE64,
      signature: { type: "string", description: "Value of the X-Signature header." },
      secret: { type: "string", minLength: 1 },
      destination: { type: "string", description: "Its secret is used: `<source>/<destination>`." },
      delivery: {
        type: "string",
        description: "Id of a delivery: its body, its secret, the signature as sent.",
      },
      attempt: {
        type: "integer",
        minimum: 0,
        description: "Its place in the delivery's history, from 0. Default: the last.",
      },
    },
    ["body", "bodyBase64", "signature", "secret", "destination", "delivery", "attempt"],
  ),
  certify: object(
    {
      destination: { type: "string", description: "`<source>/<destination>`." },
      endpoint: { type: "string", description: "URL of one of its endpoints. Default: the first." },
      url: { type: "string", description: "A receiver that is no destination." },
      secret: { type: "string", minLength: 1, description: "Default: that of the destination." },
      headers: HEADERS,
      ca: TEXT,
      only: { ...TEXTS, minItems: 1, description: "Ids of audits. Default: all." },
      language: { type: "string", enum: [...LANGUAGES], description: "Suggests fixes for it." },
    },
    ["destination", "endpoint", "url", "secret", "headers", "ca", "only", "language"],
  ),
  destination: object(
    {
      endpoints: { type: "array", items: endpoint },
      secret: {
        type: ["string", "null"],
        description: "Absent: unchanged. null: no secret, so messages are not signed.",
      },
      enabled: { type: "boolean" },
      includeFields: {
        ...INCLUDE_FIELDS,
        description: "Fields to send besides those of the documented message. Default: none.",
      },
      concurrency: { type: "integer", minimum: 1 },
    },
    ["secret", "enabled", "includeFields", "concurrency"],
  ),
  source: object({ writeKey: TEXT, blockedEvents: TEXTS, countFiltered: { type: "boolean" } }, [
    "writeKey",
    "blockedEvents",
    "countFiltered",
  ]),
  fault: object(
    {
      fault: FAULT,
      times: {
        anyOf: [{ type: "integer", minimum: 1 }, { const: "unlimited" }],
        description: "How many times it is injected. Default: 1.",
      },
      endpoint: { type: "string", description: "URL of the endpoint that it affects." },
      deliveryId: TEXT,
      messageId: TEXT,
      seconds: {
        type: "integer",
        minimum: 1,
        description: "For a rate_limit: the value of Retry-After. Default: 1.",
      },
    },
    ["times", "endpoint", "deliveryId", "messageId", "seconds"],
  ),
  clock: object({
    advance: {
      type: ["string", "number"],
      description:
        "A duration such as `4h`, milliseconds, or `next`: to the time when the next delivery is due.",
    },
  }),
  audience: object({ userIds: TEXTS, source: TEXT }, ["source"]),
  computedTrait: object({ values: { type: "object" }, source: TEXT }, ["source"]),
  deletion: object({ userId: { type: "string", minLength: 1 }, sources: TEXTS }, ["sources"]),
};
