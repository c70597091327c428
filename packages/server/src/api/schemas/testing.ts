import { FAULTS } from "@countersign/sender/faults";
import type { Schema, Schemas } from "../operation.ts";
import { TEXT, DATE_TIME, COUNT, faultOf, object } from "./parts.ts";

const FAULT = faultOf([...FAULTS, "rate_limit"]);

/** Faults and the clock. */
export const testingSchemas: Schemas = {
  Fault: object({
    id: COUNT,
    fault: FAULT,
    scope: object({ endpoint: TEXT, deliveryId: TEXT, messageId: TEXT, seconds: COUNT }, [
      "endpoint",
      "deliveryId",
      "messageId",
      "seconds",
    ]),
    remaining: { anyOf: [COUNT, { const: "unlimited" }] },
  }),
  Clock: object(
    {
      kind: { type: "string", enum: ["system", "virtual"] },
      now: DATE_TIME,
      nextDueAt: DATE_TIME,
      advancingTo: DATE_TIME,
    },
    ["nextDueAt", "advancingTo"],
  ),
};

export const FAULT_BODY: Schema = object(
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
);

export const CLOCK_BODY: Schema = object({
  advance: {
    type: ["string", "number"],
    description:
      "A duration such as `4h`, milliseconds, or `next`: to the time when the next delivery is due.",
  },
});
