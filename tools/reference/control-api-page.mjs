import { openApiDocument } from "../../packages/server/dist/api/open-api.js";
import { table } from "./table.mjs";

/** The page of the control API: every operation with its parameters, its body and its answers, from the OpenAPI document. */
export function controlApiPage() {
  const { paths, components } = openApiDocument();
  return [
    "# Operations of the control API",
    "",
    "Every operation under `/api`. [The control API](../control-api.md) explains them with examples; a running server describes them",
    "at `/api/openapi.json`, with the schema of every body.",
    "",
    ...Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, operation]) =>
        sectionOf(method.toUpperCase(), path, operation, components.schemas),
      ),
    ),
  ].join("\n");
}

function sectionOf(method, path, { summary, parameters, requestBody, responses }, schemas) {
  const schema = requestBody && resolved(requestBody.content["application/json"].schema, schemas);
  const rows = [
    ...parameters.map(({ name, in: place, schema: type }) => [`\`${name}\``, place, typeOf(type, schemas)]),
    ...Object.entries(schema?.properties ?? {}).map(([name, type]) => [
      `\`${name}\``,
      schema.required?.includes(name) ? "body, required" : "body",
      typeOf(type, schemas),
    ]),
  ];
  return [
    `## ${method} ${path}`,
    "",
    sentence(summary),
    "",
    ...(rows.length > 0 ? [table(["name", "in", "type"], rows), ""] : []),
    table(
      ["status", "answer"],
      Object.entries(responses).map(([status, { description, content }]) => [
        status,
        `${description}${bodyOf(content, schemas)}`,
      ]),
    ),
    "",
  ];
}

function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function bodyOf(content, schemas) {
  const [[type, { schema }] = []] = Object.entries(content ?? {});
  if (type === undefined || type === "application/problem+json") return "";
  return ` ${type === "application/json" ? typeOf(schema, schemas) : type}`;
}

function resolved(schema, schemas) {
  const name = nameOf(schema);
  return name === undefined ? schema : schemas[name];
}

function nameOf(schema) {
  return /^#\/components\/schemas\/(\w+)$/.exec(schema?.$ref ?? "")?.[1];
}

/** A type in few words: a name, the words that it may be, or the kind of value. */
function typeOf(schema = {}, schemas = {}) {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return [...new Set(several.map((one) => typeOf(one, schemas)))].join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items, schemas)}`;
  return [schema.type].flat().join(" or ") + (schema.format === undefined ? "" : ` (${schema.format})`);
}
