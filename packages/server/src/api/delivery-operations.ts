import { filterOf } from "./delivery-filter.ts";
import { deliveryFor } from "./lookups.ts";
import { deliveryDetailJson } from "./delivery-json.ts";
import { REJECTION_FIXES, SKIP_FIXES } from "../ingest/fixes.ts";
import { skippedCallJson, summaryJson } from "../shapes/delivery-shapes.ts";
import { ref, type Operation, type Schema } from "./operation.ts";
import { FILTER_PARAMETERS, PAGE_PARAMETERS, SKIPPED_PARAMETERS } from "./schemas/filters.ts";
import { EVENT_STREAM } from "./schemas/events.ts";

/** How many of a list, of which the last thousand are kept. */
const LIMIT: Schema = { type: "integer", minimum: 1, maximum: 1_000, default: 100 };

/** Deliveries, calls without a delivery, and the live stream. */
export const deliveryOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/deliveries",
    id: "listDeliveries",
    summary: "A page of deliveries, newest first, without requests and answers.",
    description:
      "Every parameter must match. If a parameter is repeated, one of its values must match. Pass `next` of the answer as `after` for the next page.",
    query: { ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
    answer: { status: 200, schema: ref("DeliveryPage") },
    async handle({ sender }, { query }) {
      const { deliveries, next } = await sender.summaries(filterOf(query));
      return { deliveries: deliveries.map(summaryJson), ...(next !== undefined && { next }) };
    },
  },
  {
    method: "GET",
    path: "/deliveries/count",
    id: "countDeliveries",
    summary: "How many deliveries match, and the last event of the stream that is counted.",
    description:
      "Who follows the stream adds what was accepted after that event. The parameters are those of the list.",
    query: FILTER_PARAMETERS,
    answer: { status: 200, schema: ref("Count") },
    async handle({ sender, events: { log } }, { query }) {
      // As it is before: an event comes after what it tells of was stored.
      const lastEvent = log.idOf(log.last);
      return { count: await sender.count(filterOf(query)), lastEvent };
    },
  },
  {
    method: "GET",
    path: "/deliveries/{id}",
    id: "getDelivery",
    summary:
      "One delivery with every attempt, its exact body, its signature, and a curl command for each endpoint.",
    description:
      "Credentials are shown as `(hidden)`. `why` says how the delivery came to its state, and `advice` what to do about it.",
    answer: { status: 200, schema: ref("DeliveryDetail") },
    errors: { 404: "Delivery not found." },
    async handle(context, { params }) {
      const delivery = await deliveryFor(context, params["id"] ?? "");
      return deliveryDetailJson(delivery, context.sender.settings, context.info);
    },
  },
  {
    method: "GET",
    path: "/skipped",
    id: "listSkipped",
    summary: "A page of accepted calls that went to no destination, newest first.",
    description:
      "Each has the reason, such as a blocked event, and what to do about it. The last 10,000 are kept.",
    query: { ...SKIPPED_PARAMETERS, ...PAGE_PARAMETERS },
    answer: { status: 200, schema: ref("SkippedPage") },
    async handle({ sender }, { query }) {
      const { calls, next } = await sender.skipped(filterOf(query));
      const found = calls.map((call) => ({ ...skippedCallJson(call), fix: SKIP_FIXES[call.reason] }));
      return { calls: found, ...(next !== undefined && { next }) };
    },
  },
  {
    method: "GET",
    path: "/rejections",
    id: "listRejections",
    summary: "Rejected messages, newest first, each with its reason.",
    description:
      "Clients were answered 200 for these, unless they asked for strict mode. The last thousand are kept, without their write key.",
    query: { limit: LIMIT },
    answer: { status: 200, schema: { type: "array", items: ref("Rejection") } },
    handle: ({ ledger }, { query }) =>
      ledger
        .rejections(Number(query["limit"]))
        .map((rejection) => ({ ...rejection, fix: REJECTION_FIXES[rejection.reason] })),
  },
  {
    method: "GET",
    path: "/warnings",
    id: "listWarnings",
    summary: "Warnings about accepted messages, newest first.",
    description: "The messages were forwarded all the same. The last thousand since the start are kept.",
    query: { limit: LIMIT },
    answer: { status: 200, schema: { type: "array", items: ref("Warning") } },
    handle: ({ warnings }, { query }) => warnings.list(Number(query["limit"])),
  },
  {
    method: "GET",
    path: "/events",
    id: "streamEvents",
    summary: "A stream of events from now on, as server-sent events.",
    description:
      "It begins with `hello`, or with `reset` when events after Last-Event-ID (or `after`) are no longer kept or come from another run: then read everything again. The data of a message is an `Event`.",
    query: {
      after: { type: "string", description: "The id of the last event that you have, like Last-Event-ID." },
      every: {
        type: "integer",
        minimum: 10,
        maximum: 5_000,
        description: "Bundles the events of so many milliseconds into messages of the name `events`.",
      },
    },
    answer: { status: 200, schema: EVENT_STREAM, type: "text/event-stream", headers: ["X-Accel-Buffering"] },
    handle: ({ streams }, { request, reply, query }) => streams.open(request, reply, query),
  },
];
