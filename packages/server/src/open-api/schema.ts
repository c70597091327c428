/** A JSON Schema, 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

/** Schemas by their name. */
export type Schemas = Readonly<Record<string, Schema>>;

export const TEXT: Schema = { type: "string" };
export const DATE_TIME: Schema = { type: "string", format: "date-time" };
export const COUNT: Schema = { type: "integer", minimum: 0 };
export const NUMBER: Schema = { type: "number" };
export const TEXTS: Schema = { type: "array", items: TEXT };
export const SECONDS: Schema = { type: "string", description: "Seconds." };

/** A reference to a schema of the document's components. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** An object with these properties and no others. All are required, except those that `optional` names. */
export function object(properties: Schemas, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}
