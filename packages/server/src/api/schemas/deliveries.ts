import { FAULTS } from "@countersign/sender/faults";
import { ATTEMPT_OUTCOMES, DELIVERY_STATES, MESSAGE_TYPES } from "@countersign/sender/store";
import { ref, type Schema, type Schemas } from "../operation.ts";
import { FILTER_BODY } from "./filters.ts";
import {
  TEXT,
  DATE_TIME,
  COUNT,
  NUMBER,
  BASE64,
  HEADERS,
  object,
  CURSOR,
  JOB_STATE,
  faultOf,
} from "./parts.ts";

const ATTEMPT_SUMMARY = {
  round: {
    ...COUNT,
    description:
      "Which try it belongs to, from 1: a try is an attempt at each endpoint that has not rejected the delivery.",
  },
  endpoint: TEXT,
  startedAt: DATE_TIME,
  durationMs: NUMBER,
  outcome: { type: "string", enum: [...ATTEMPT_OUTCOMES] },
  answer: {
    type: "string",
    description: "The answer in words: the status, or why there is none.",
  },
  status: COUNT,
  code: TEXT,
  message: TEXT,
  fault: TEXT,
};

const CUT: Schema = { const: true, description: "The body was longer." };

const ABSENT_IN_ATTEMPT = ["status", "code", "message", "fault"];

const RESEND_OF: Schema = { type: "string", description: "Id of the delivery that it repeats." };

const DELIVERY_INFO = {
  id: TEXT,
  messageId: TEXT,
  type: { type: "string", enum: [...MESSAGE_TYPES] },
  event: TEXT,
  source: TEXT,
  destination: TEXT,
  identity: TEXT,
  acceptedAt: DATE_TIME,
};

const DELIVERY_SUMMARY = {
  ...DELIVERY_INFO,
  state: { type: "string", enum: [...DELIVERY_STATES] },
  dueAt: DATE_TIME,
  endedAt: DATE_TIME,
  attempts: { ...COUNT, description: "How many there were. `last.round` is the number of tries." },
  last: ref("AttemptSummary"),
  resendOf: RESEND_OF,
};

const ABSENT_IN_SUMMARY = ["event", "dueAt", "endedAt", "last", "resendOf"];

/** Deliveries, their attempts, and what resending them answers. */
export const deliverySchemas: Schemas = {
  AttemptSummary: object(ATTEMPT_SUMMARY, ABSENT_IN_ATTEMPT),
  AttemptExcerpt: object(
    {
      ...ATTEMPT_SUMMARY,
      response: { type: "string", description: "The first 1,024 characters of the body." },
      cut: CUT,
    },
    [...ABSENT_IN_ATTEMPT, "cut"],
  ),
  Attempt: object(
    {
      ...ATTEMPT_SUMMARY,
      response: { type: "string", description: "The first 16 KiB of the body." },
      cut: CUT,
      requestHeaders: {
        ...HEADERS,
        description: "As sent, with the signature; values of static headers are hidden.",
      },
      responseHeaders: HEADERS,
    },
    [...ABSENT_IN_ATTEMPT, "cut", "requestHeaders", "responseHeaders"],
  ),
  DeliveryInfo: object({ ...DELIVERY_INFO, resendOf: RESEND_OF }, ["event", "resendOf"]),
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
      why: { type: "string", description: "Why it has this state, in one sentence." },
      advice: {
        type: "string",
        description: "The likely cause, and what to do. Absent where nothing needs to be done.",
      },
    },
    [...ABSENT_IN_SUMMARY, "bodyBase64", "signature", "advice"],
  ),
  Count: object({
    count: COUNT,
    lastEvent: {
      type: "string",
      description: "The id of the newest event by then. What events before it, or it, told of is counted.",
    },
  }),
  Cleared: object({ removed: COUNT }),
  Retried: object(
    {
      id: TEXT,
      waiting: {
        type: "boolean",
        description:
          "Whether it waits for its destination, which is disabled or has no settings. Then `advice` says what to do.",
      },
      advice: TEXT,
    },
    ["advice"],
  ),
  RetriedAll: object({
    retried: { ...COUNT, description: "How many were made due." },
    waiting: {
      ...COUNT,
      description:
        "How many of these wait for their destination, which is disabled or has no settings: they start when it is enabled.",
    },
  }),
  ResendJob: object(
    {
      id: TEXT,
      filter: FILTER_BODY,
      state: JOB_STATE,
      matched: COUNT,
      resent: COUNT,
      startedAt: DATE_TIME,
      endedAt: DATE_TIME,
      error: TEXT,
    },
    ["endedAt", "error"],
  ),
};

export const RESEND_BODY: Schema = object(
  {
    body: { type: "string", description: "Sent in place of the original bytes." },
    bodyBase64: BASE64,
    fault: faultOf(FAULTS),
  },
  ["body", "bodyBase64", "fault"],
);

export const RESEND_ALL_BODY: Schema = object({ filter: FILTER_BODY });

export const RETRY_ALL_BODY: Schema = object(
  {
    filter: FILTER_BODY,
    limit: {
      type: "integer",
      minimum: 1,
      description: "The most deliveries to try: those that were accepted first.",
    },
  },
  ["limit"],
);
