import { FAULT_PATTERN } from "@countersign/sender/faults";
import { MAX_KEPT } from "../../jobs/jobs.ts";
import type { Schema, Schemas } from "../operation.ts";

export const TEXT: Schema = { type: "string" };
export const DATE_TIME: Schema = { type: "string", format: "date-time" };
export const COUNT: Schema = { type: "integer", minimum: 0 };
export const NUMBER: Schema = { type: "number" };
export const TEXTS: Schema = { type: "array", items: TEXT };
export const BASE64: Schema = {
  type: "string",
  contentEncoding: "base64",
  pattern: "^[A-Za-z0-9+/]*={0,2}$",
};
export const CURSOR: Schema = { type: "string", description: "Give it as `after` for the next page." };
export const JOB_STATE: Schema = { type: "string", enum: ["running", "done", "cancelled", "failed"] };
/** How many jobs of a kind are listed. */
export const JOB_LIMIT: Schema = { type: "integer", minimum: 1, maximum: MAX_KEPT, default: MAX_KEPT };
export const HEADERS: Schema = { type: "object", additionalProperties: TEXT };

/** An object with these properties and no others. All are required, except those that `optional` names. */
export function object(properties: Schemas, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

/** A fault: one of these names, or a status. */
export function faultOf(names: readonly string[]): Schema {
  return {
    type: "string",
    anyOf: [{ enum: [...names] }, { pattern: FAULT_PATTERN, title: "status:200 to status:599" }],
  };
}
