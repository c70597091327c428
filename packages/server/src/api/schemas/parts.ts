import { FAULT_PATTERN } from "@countersign/sender/faults";
import { MAX_KEPT } from "../../jobs/jobs.ts";
import { TEXT, type Schema } from "../../open-api/schema.ts";

export { COUNT, DATE_TIME, NUMBER, object, TEXT, TEXTS } from "../../open-api/schema.ts";
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

/** A fault: one of these names, or a status. */
export function faultOf(names: readonly string[]): Schema {
  return {
    type: "string",
    anyOf: [{ enum: [...names] }, { pattern: FAULT_PATTERN, title: "status:200 to status:599" }],
  };
}
