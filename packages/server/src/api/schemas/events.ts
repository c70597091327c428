import { FAULT_CHANGES } from "../../live/fault-list.ts";
import type { HelloEvent, LiveEvent } from "../../live/live-event.ts";
import { ref, type Schema, type Schemas } from "../operation.ts";
import { COUNT, DATE_TIME, NUMBER, object, TEXT } from "./parts.ts";
import { STORE_STATE } from "./status.ts";

type EventName = (LiveEvent | HelloEvent)["event"];

const BOOLEAN: Schema = { type: "boolean" };
const RUN: Schema = { type: "string", description: "Ids of its events begin with it." };

const ENDED: Schemas = { delivery: ref("DeliveryInfo"), endedAt: DATE_TIME };
const STREAK: Schemas = {
  destination: TEXT,
  endpoint: { type: "string", description: "Its URL." },
  failures: { ...COUNT, description: "How many attempts failed in a row." },
  since: DATE_TIME,
  last: ref("AttemptExcerpt"),
};

/** The fields of each event, besides `event`, `id` and `at`. Those that end with a question mark may be absent. */
const FIELDS: Readonly<Record<EventName, Schemas>> = {
  hello: { run: RUN },
  reset: { run: RUN, reason: { type: "string", enum: ["restarted", "missed"] } },
  accepted: { delivery: ref("DeliveryInfo") },
  attempt: { delivery: ref("DeliveryInfo"), attempt: ref("AttemptExcerpt") },
  delivered: { ...ENDED, state: { const: "delivered" } },
  failed: { ...ENDED, state: { const: "failed" } },
  expired: { ...ENDED, state: { const: "expired" } },
  retrying: {
    delivery: ref("DeliveryInfo"),
    state: { const: "pending" },
    dueAt: DATE_TIME,
    delayMs: { ...NUMBER, description: "Milliseconds from then." },
  },
  skipped: { call: ref("SkippedInfo") },
  rejected: {
    "source?": TEXT,
    rejection: ref("RejectionInfo"),
    "more?": {
      ...COUNT,
      description: "How many more messages of the same request were rejected, and have no event.",
    },
  },
  warned: { source: TEXT, warning: ref("WarningInfo") },
  failing: STREAK,
  recovered: STREAK,
  forgery: {
    destination: TEXT,
    endpoint: TEXT,
    fault: TEXT,
    accepted: { ...BOOLEAN, description: "`false` when it has been seen to refuse such a one since." },
  },
  store: { state: STORE_STATE["state"] ?? {}, "reason?": TEXT },
  store_error: { message: TEXT },
  settings: { etag: TEXT, source: TEXT, "removed?": { const: true } },
  fault: {
    change: { type: "string", enum: [...FAULT_CHANGES] },
    fault: ref("Fault"),
  },
  advancing: { now: DATE_TIME, advancingTo: DATE_TIME },
  clock: { now: DATE_TIME, advancedMs: NUMBER },
  cleared: { removed: COUNT },
  resend: { job: ref("ResendJob") },
  audit: { certification: TEXT, result: ref("AuditResult") },
  certified: { certification: ref("CertificationSummary") },
};

/** The events of the stream: one of them is the data of a message, and a list of them that of a message named `events`. */
export const eventSchemas: Schemas = {
  ...Object.fromEntries(
    Object.entries(FIELDS).map(([name, fields]) => [schemaName(name), eventOf(name, fields)]),
  ),
  Event: { oneOf: Object.keys(FIELDS).map((name) => ref(schemaName(name))) },
};

/** `store_error` as `StoreErrorEvent`. */
function schemaName(event: string): string {
  return `${event.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;
}

function eventOf(name: string, fields: Schemas): Schema {
  const optional = Object.keys(fields).filter((field) => field.endsWith("?"));
  const named = Object.entries(fields).map(([field, schema]) => [field.replace("?", ""), schema] as const);
  return object(
    { event: { const: name }, id: TEXT, at: DATE_TIME, ...Object.fromEntries(named) },
    optional.map((field) => field.replace("?", "")),
  );
}

/** The stream. OpenAPI 3.1 has no word for the messages of one. */
export const EVENT_STREAM: Schema = {
  type: "string",
  description:
    "The data of each message is the JSON of an Event, or a list of them if the message is named `events`.",
  contentMediaType: "text/event-stream",
  contentSchema: ref("Event"),
};
