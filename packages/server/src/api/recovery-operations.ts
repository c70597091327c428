import { randomInt } from "node:crypto";
import { timeOrderedIds } from "@countersign/protocol";
import type { Fault } from "@countersign/sender/faults";
import { destinationOf } from "../settings/find-settings.ts";
import { holdOf } from "./delivery-json.ts";
import { filterOf } from "./delivery-filter.ts";
import { injectFault, TOO_MANY_FAULTS } from "./inject-fault.ts";
import { deliveryFor, NO_DELIVERY } from "./lookups.ts";
import { found, Problem, problemAt } from "./problem.ts";
import { receiptJson } from "./receipt-json.ts";
import { ref, type ApiContext, type Operation } from "./operation.ts";
import { RESEND_ALL_BODY, RESEND_BODY, RETRY_ALL_BODY } from "./schemas/deliveries.ts";
import { FILTER_PARAMETERS } from "./schemas/filters.ts";
import { JOB_LIMIT } from "./schemas/parts.ts";

const NO_JOB = "Resend job not found. The last twenty are kept.";

const newId = timeOrderedIds(() => randomInt(2 ** 32));

interface ResendBody {
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly fault?: Fault;
}

interface RetryAllBody {
  readonly filter: Readonly<Record<string, unknown>>;
  readonly limit?: number;
}

/** Recovery after an outage or a bad deploy: sending again, trying now, and clearing. */
export const recoveryOperations: readonly Operation[] = [
  {
    method: "POST",
    path: "/deliveries/{id}/resend",
    id: "resendDelivery",
    summary:
      "Sends a delivery again to the same destination, as a new one: the same bytes, or a changed `body`; with a `fault`, if one is given.",
    description:
      "The original stays as it is. The answer is the receipt of the copy, and comes before its first attempt.",
    body: RESEND_BODY,
    bodyIsOptional: true,
    maxBodyBytes: 2_097_152,
    answer: { status: 201, schema: ref("Receipt") },
    errors: {
      404: NO_DELIVERY,
      409: `With a fault: ${TOO_MANY_FAULTS}`,
      422: "Both `body` and `bodyBase64` are given.",
    },
    handle: (context, { params, body }) => resend(context, params["id"] ?? "", body ?? {}),
  },
  {
    method: "POST",
    path: "/deliveries/{id}/retry",
    id: "retryDelivery",
    summary: "Tries a waiting delivery now.",
    description:
      "One to a destination that is disabled, or has no settings, starts when that is enabled. If the try fails, the delivery waits again.",
    answer: { status: 200, schema: ref("Retried") },
    errors: { 404: NO_DELIVERY, 409: "It has ended, or is being sent." },
    async handle(context, { params }) {
      const id = params["id"] ?? "";
      const { destination } = await deliveryFor(context, id);
      if (await context.sender.retry(id)) {
        const held = holdOf(destinationOf(context.sender.settings, destination));
        return { id, waiting: held !== undefined, ...(held !== undefined && { advice: held }) };
      }
      const { state } = await deliveryFor(context, id);
      throw new Problem(
        409,
        state === "pending"
          ? "The delivery is being sent right now, or is about to be."
          : `The delivery has ended: it is ${state}. Send it again with POST /api/deliveries/${id}/resend.`,
      );
    },
  },
  {
    method: "POST",
    path: "/deliveries/retry",
    id: "retryDeliveries",
    summary: "Tries every delivery now that matches the filter and waits for a later time.",
    description:
      "They start in the order in which they were accepted, at most `concurrency` of a destination at a time; those to a destination that is disabled, or has no settings, start when that is enabled. A delivery that is being sent, or is due already, is left out, so this can be repeated. The answer comes before the attempts.",
    body: RETRY_ALL_BODY,
    answer: { status: 200, schema: ref("RetriedAll") },
    errors: { 422: "The filter leaves out pending deliveries." },
    handle({ sender }, { body }) {
      const { filter: given, limit } = body as RetryAllBody;
      const filter = filterOf(given);
      if (filter.state !== undefined && ![filter.state].flat().includes("pending")) {
        throw problemAt(
          { pointer: "/filter/state" },
          "Only a pending delivery can be tried now. Send others again with POST /api/deliveries/resend.",
        );
      }
      return sender.retry({ filter, limit });
    },
  },
  {
    method: "POST",
    path: "/deliveries/resend",
    id: "resendDeliveries",
    summary:
      "Starts to send every delivery again that matches the filter and was accepted before now, each once.",
    description:
      "The originals stay as they are. One that has failed is left out if a copy of it was delivered or waits. Events `resend` report its progress.",
    body: RESEND_ALL_BODY,
    answer: { status: 202, schema: ref("ResendJob") },
    errors: { 409: "Another job is running.", 422: "The filter is empty." },
    handle({ resends }, { body }) {
      const { filter } = body as { readonly filter: Readonly<Record<string, unknown>> };
      if (Object.keys(filter).length === 0) {
        throw problemAt(
          { pointer: "/filter" },
          'An empty filter would send everything again. Say which deliveries, such as {"state":["failed","expired"]}.',
        );
      }
      const { running } = resends;
      if (running) throw new Problem(409, `${running.id} is still running. Wait for it, or DELETE it.`);
      return resends.start(filterOf(filter), filter);
    },
  },
  {
    method: "GET",
    path: "/resends",
    id: "listResends",
    summary: "The last twenty jobs of this process, newest first.",
    description:
      "Each was started by `POST /api/deliveries/resend`. Those of earlier processes are not kept.",
    query: { limit: JOB_LIMIT },
    answer: { status: 200, schema: { type: "array", items: ref("ResendJob") } },
    handle: ({ resends }, { query }) => resends.list(Number(query["limit"])),
  },
  {
    method: "GET",
    path: "/resends/{id}",
    id: "getResend",
    summary: "The progress of a job.",
    description:
      "`matched` is how many deliveries it sends again, `resent` how many it has sent again so far. If it has failed, `error` says why.",
    answer: { status: 200, schema: ref("ResendJob") },
    errors: { 404: NO_JOB },
    handle: ({ resends }, { params }) => found(resends.find(params["id"] ?? ""), NO_JOB),
  },
  {
    method: "DELETE",
    path: "/resends/{id}",
    id: "cancelResend",
    summary: "Stops a job.",
    description: "Deliveries that it has already sent again remain. A job that has ended stays as it is.",
    answer: { status: 200, schema: ref("ResendJob") },
    errors: { 404: NO_JOB },
    handle: ({ resends }, { params }) => found(resends.cancel(params["id"] ?? ""), NO_JOB),
  },
  {
    method: "DELETE",
    path: "/deliveries",
    id: "clearDeliveries",
    summary: "Removes deliveries that have ended and match; all of them without a parameter.",
    description:
      "Pending deliveries stay, and to ask for them is an error. What was removed cannot be sent again.",
    query: FILTER_PARAMETERS,
    answer: { status: 200, schema: ref("Cleared") },
    errors: { 422: "Pending deliveries cannot be removed." },
    async handle({ sender, events }, { query }) {
      const filter = filterOf(query);
      if ([filter.state].flat().includes("pending")) {
        throw problemAt(
          { parameter: "state" },
          "A pending delivery cannot be removed: it was accepted, and will be sent.",
        );
      }
      const removed = await sender.clear(filter);
      events.tell({ event: "cleared", removed });
      return { removed };
    },
  },
];

async function resend(
  { sender, faults, now }: ApiContext,
  original: string,
  given: ResendBody,
): Promise<object> {
  const { body, bodyBase64, fault } = given;
  if (body !== undefined && bodyBase64 !== undefined) {
    throw problemAt({ pointer: "/bodyBase64" }, "Give `body` or `bodyBase64`, not both.");
  }
  const changed = bodyBase64 === undefined ? body : Buffer.from(bodyBase64, "base64");
  // Chosen here only for a fault, which must be there before the first attempt. With its own id, the sender stores one copy of two
  // resends at the same time.
  const id = fault === undefined ? undefined : newId(now());
  const injected = fault && injectFault(faults, { fault, deliveryId: id });
  try {
    return receiptJson(await sender.resend(original, { id, body: changed }));
  } catch (error) {
    if (injected) faults.cancel(injected.id);
    if (error instanceof RangeError) throw new Problem(404, NO_DELIVERY);
    throw error;
  }
}
