import type { Duration } from "@countersign/protocol";
import type { Fault } from "@countersign/sender/faults";
import { iso } from "../shapes/times.ts";
import { injectFault, TOO_MANY_FAULTS } from "./inject-fault.ts";
import { Problem, problemAt } from "./problem.ts";
import { ref, type ApiContext, type Operation } from "./operation.ts";
import { CLOCK_BODY, FAULT_BODY } from "./schemas/testing.ts";

const NO_FAULT = "Fault not found, or it has already been injected as often as requested.";

/** For tests: faults on demand, and control of the clock. */
export const testingOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/faults",
    id: "listFaults",
    summary: "The active faults.",
    description: "A fault is active until it was injected as often as requested, or is cancelled.",
    answer: { status: 200, schema: { type: "array", items: ref("Fault") } },
    handle: ({ faults }) => faults.active(),
  },
  {
    method: "POST",
    path: "/faults",
    id: "injectFault",
    summary:
      "Injects a fault: into the next deliveries to a receiver, or into those that match; `rate_limit` is for clients of /v1.",
    description: "It is injected once, or as often as `times` says. What was sent before stays as it is.",
    body: FAULT_BODY,
    answer: { status: 201, schema: ref("Fault") },
    errors: { 409: TOO_MANY_FAULTS },
    handle({ faults }, { body }) {
      const { fault, times, seconds, ...scope } = body as FaultBody;
      const strikes = times === "unlimited" ? Number.POSITIVE_INFINITY : times;
      return fault === "rate_limit"
        ? injectFault(faults, { fault, seconds: seconds ?? 1, times: strikes })
        : injectFault(faults, { fault, ...scope, times: strikes });
    },
  },
  {
    method: "DELETE",
    path: "/faults/{id}",
    id: "cancelFault",
    summary: "Cancels a fault.",
    description: "Deliveries that it was injected into stay as they are.",
    answer: { status: 204 },
    errors: { 404: NO_FAULT },
    handle({ faults }, { params }) {
      if (!faults.cancel(Number(params["id"]))) throw new Problem(404, NO_FAULT);
    },
  },
  {
    method: "GET",
    path: "/clock",
    id: "getClock",
    summary: "The server's time, and to when a virtual clock is being advanced.",
    description:
      "`nextDueAt` is when the next delivery to an enabled destination is due; it is absent if none waits.",
    answer: { status: 200, schema: ref("Clock") },
    handle: clockJson,
  },
  {
    method: "POST",
    path: "/clock",
    id: "advanceClock",
    summary: "Advances a virtual clock, by a duration or to the `next` time when a delivery is due.",
    description: "Answers when every attempt that became due has ended. The system clock cannot be advanced.",
    body: CLOCK_BODY,
    answer: { status: 200, schema: ref("Clock") },
    errors: { 409: "The server uses the system clock, or no delivery waits.", 422: "Not a duration." },
    async handle(context, { body }) {
      const { advances, events } = context;
      if (!advances) {
        throw new Problem(
          409,
          "The server uses the system clock. To advance the time, start it with --virtual-clock.",
        );
      }
      const { advance } = body as { readonly advance: Duration | "next" };
      const duration = advance === "next" ? await untilNext(context) : advance;
      const before = context.now();
      try {
        await advances.advance(duration);
      } catch (error) {
        if (error instanceof TypeError) throw problemAt({ pointer: "/advance" }, error.message);
        throw error;
      }
      const now = context.now();
      events.tell({ event: "clock", now: iso(now), advancedMs: now - before });
      return clockJson(context);
    },
  },
];

interface FaultBody {
  readonly fault: Fault | "rate_limit";
  readonly times?: number | "unlimited";
  readonly seconds?: number;
  readonly endpoint?: string;
  readonly deliveryId?: string;
  readonly messageId?: string;
}

async function clockJson({ sender, virtualClock, advances, now }: ApiContext): Promise<object> {
  const nextDueAt = await nextDue(sender);
  const advancingTo = advances?.target;
  return {
    kind: virtualClock ? "virtual" : "system",
    now: iso(now()),
    ...(nextDueAt !== undefined && { nextDueAt: iso(nextDueAt) }),
    ...(advancingTo !== undefined && { advancingTo: iso(advancingTo) }),
  };
}

/** When the next delivery is due that will be sent: those of destinations that are off wait for their settings. */
async function nextDue(sender: ApiContext["sender"]): Promise<number | undefined> {
  const { destinations } = await sender.stats();
  const times = destinations.flatMap(({ enabled, nextDueAt }) => (enabled ? (nextDueAt ?? []) : []));
  return times.length === 0 ? undefined : Math.min(...times);
}

async function untilNext({ sender, now }: ApiContext): Promise<number> {
  const next = await nextDue(sender);
  if (next !== undefined) return Math.max(next - now(), 0);
  throw new Problem(409, "No delivery waits for a time, so there is no next one to advance to.");
}
