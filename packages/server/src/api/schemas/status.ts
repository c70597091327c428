import { ATTEMPT_OUTCOMES } from "@countersign/sender/store";
import { ref, type Schemas } from "../operation.ts";
import { TEXT, DATE_TIME, COUNT, NUMBER, TEXTS, object } from "./parts.ts";

/** How the store is. */
export const STORE_STATE: Schemas = {
  state: { type: "string", enum: ["up", "down", "unsafe", "full"] },
  reason: TEXT,
};

/** The state of the server and of its endpoints. */
export const statusSchemas: Schemas = {
  Status: object({
    version: TEXT,
    run: { type: "string", description: "Differs after each start; ids of events begin with it." },
    startedAt: DATE_TIME,
    now: DATE_TIME,
    clock: { type: "string", enum: ["system", "virtual"] },
    delivers: { type: "boolean", description: "Whether this server delivers the calls that it accepts." },
    kept: { type: "string", enum: ["disk", "memory", "shared"] },
    store: object(STORE_STATE, ["reason"]),
    budgetMs: NUMBER,
    retryWindowMs: NUMBER,
    recording: { type: "boolean" },
    faults: TEXTS,
    certify: { type: "boolean" },
  }),
  Stats: object(
    {
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
      space: {
        ...object({ usedBytes: COUNT, limitBytes: COUNT }),
        description: "What the store takes of its limit, ended deliveries included; absent if it has none.",
      },
      endpoints: {
        type: "array",
        items: object(
          {
            destination: TEXT,
            url: TEXT,
            outcomes: object(Object.fromEntries(ATTEMPT_OUTCOMES.map((outcome) => [outcome, COUNT]))),
            failures: { ...COUNT, description: "How many of the last attempts failed in a row." },
            failingSince: DATE_TIME,
            lastFailure: ref("AttemptSummary"),
            responseTimes: object({
              bounds: { type: "array", items: NUMBER },
              counts: { type: "array", items: COUNT },
              overBudget: COUNT,
              nearMisses: { ...COUNT, description: "Successes that took more than four fifths of the time." },
              count: COUNT,
              sumMs: NUMBER,
            }),
          },
          ["failingSince", "lastFailure"],
        ),
      },
      forgeries: {
        type: "array",
        description:
          "Endpoints that accepted a forged message, an entry for each `fault` with the last delivery, and have not been seen to refuse such a one since. Audits have one entry together, without `delivery`.",
        items: object(
          {
            destination: TEXT,
            url: TEXT,
            delivery: TEXT,
            fault: TEXT,
            status: NUMBER,
            at: DATE_TIME,
          },
          ["delivery"],
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
    },
    ["space"],
  ),
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
};
