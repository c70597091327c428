import type { Schema } from "../operation.ts";

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
export const HEADERS: Schema = { type: "object", additionalProperties: TEXT };

/** An object with these properties and no others. All are required, except those that `optional` names. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

export const CURSOR: Schema = { type: "string", description: "Give it as `after` for the next page." };
