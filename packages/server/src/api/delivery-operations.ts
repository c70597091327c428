import type { DeliveryFilter } from "@countersign/sender";
import { Problem } from "./problem.ts";
import { deliveryDetailJson, deliveryJson } from "./delivery-json.ts";
import { ref, type Operation } from "./operation.ts";

const TEXT = { type: "string" } as const;

/** Deliveries, rejected messages, statistics and the live stream. */
export const deliveryOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/deliveries",
    id: "listDeliveries",
    summary: "Lists deliveries, newest first. All filters must match.",
    query: {
      state: { type: "string", enum: ["pending", "delivered", "failed", "expired"] },
      source: TEXT,
      destination: TEXT,
      type: TEXT,
      messageId: TEXT,
      identity: TEXT,
      event: TEXT,
      after: {
        type: "string",
        description:
          "The page after the delivery with this cursor: its time of acceptance in milliseconds since 1970, a dot, and its id.",
      },
      limit: { type: "integer", minimum: 1, maximum: 1_000, default: 100 },
    },
    answer: { status: 200, schema: { type: "array", items: ref("Delivery") } },
    handle: async ({ sender }, { query }) =>
      (await sender.deliveries(query as DeliveryFilter)).map((delivery) => deliveryJson(delivery)),
  },
  {
    method: "GET",
    path: "/deliveries/{id}",
    id: "getDelivery",
    summary: "One delivery with its exact body, its signature, and a curl command that sends it.",
    answer: { status: 200, schema: ref("DeliveryDetail") },
    errors: { 404: "Delivery not found." },
    async handle({ sender }, { params }) {
      const delivery = await sender.delivery(params["id"] ?? "");
      if (!delivery) throw noDelivery();
      return deliveryDetailJson(delivery, sender.settings);
    },
  },
  {
    method: "POST",
    path: "/deliveries/{id}/resend",
    id: "resendDelivery",
    summary: "Sends the same bytes again to the same destination, as a new delivery.",
    answer: { status: 201, schema: ref("Receipt") },
    errors: { 404: "Delivery not found." },
    async handle({ sender }, { params }) {
      const id = params["id"] ?? "";
      if (!(await sender.delivery(id))) throw noDelivery();
      const { messageId, deliveries } = await sender.resend(id);
      return { messageId, deliveries };
    },
  },
  {
    method: "GET",
    path: "/rejections",
    id: "listRejections",
    summary: "Rejected messages, newest first, each with its reason. The last thousand are kept.",
    query: { limit: { type: "integer", minimum: 1, maximum: 1_000, default: 100 } },
    answer: { status: 200, schema: { type: "array", items: ref("Rejection") } },
    handle: ({ ledger }, { query }) => ledger.rejections(Number(query["limit"])),
  },
  {
    method: "GET",
    path: "/warnings",
    id: "listWarnings",
    summary: "Warnings about accepted messages, newest first. The last thousand since the start are kept.",
    query: { limit: { type: "integer", minimum: 1, maximum: 1_000, default: 100 } },
    answer: { status: 200, schema: { type: "array", items: ref("Warning") } },
    handle: ({ warnings }, { query }) => warnings.list(Number(query["limit"])),
  },
  {
    method: "GET",
    path: "/events",
    id: "streamEvents",
    summary:
      "A stream of events from now on, as server-sent events. It begins with `hello`, or with `reset` when events after Last-Event-ID (or `after`) are no longer kept or come from another run: then read everything anew.",
    query: {
      after: { type: "string", description: "The id of the last event that you have, like Last-Event-ID." },
      every: {
        type: "integer",
        minimum: 10,
        maximum: 5_000,
        description: "Bundles the events of so many milliseconds into messages of the name `events`.",
      },
    },
    answer: { status: 200, schema: TEXT, type: "text/event-stream" },
    handle: ({ streams }, { request, reply, query }) => streams.open(request, reply, query),
  },
];

function noDelivery(): Problem {
  return new Problem(404, "Delivery not found. It may have been removed after `keepFor`.");
}
