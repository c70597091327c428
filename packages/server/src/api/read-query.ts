import { ENDPOINT_SYNONYMS, EVENT_SYNONYMS, nameHint, type OptionSynonyms } from "@countersign/protocol";
import { problemAt } from "./problem.ts";
import type { Schema, Schemas } from "./operation.ts";

/** What else some parameters are called. */
const SYNONYMS: Readonly<Record<string, OptionSynonyms>> = {
  endpoint: ENDPOINT_SYNONYMS,
  event: EVENT_SYNONYMS,
};

/**
 * Brings the texts of a query string into the types of its parameters: `limit=10` is a number, and a parameter that may be
 * repeated is a list. A text that is not of the type is left for the schema to refuse.
 *
 * @throws Problem naming a parameter that does not exist.
 */
export function readQuery(given: Record<string, unknown>, schemas: Schemas): void {
  for (const [name, value] of Object.entries(given)) {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (!schema) {
      const detail = `The parameter ${JSON.stringify(name)} does not exist${hintFor(name, schemas)}`;
      throw problemAt({ parameter: name }, detail, 400);
    }
    given[name] = schema["type"] === "array" ? readList(value, schema) : readValue(value, schema);
  }
}

function hintFor(name: string, schemas: Schemas): string {
  return nameHint(name, Object.fromEntries(Object.keys(schemas).map((known) => [known, SYNONYMS[known]])));
}

function readList(value: unknown, { items }: Schema): unknown {
  return [value].flat().map((item) => readValue(item, items as Schema));
}

function readValue(value: unknown, { type }: Schema): unknown {
  if (typeof value !== "string") return value;
  if (type === "integer" && /^\d{1,15}$/.test(value)) return Number(value);
  if (type === "boolean" && (value === "true" || value === "" || value === "1")) return true;
  if (type === "boolean" && value === "false") return false;
  return value;
}
