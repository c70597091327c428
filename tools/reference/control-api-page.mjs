import { openApiDocument } from "../../packages/server/dist/api/open-api.js";
import { table } from "./table.mjs";

/** The page of the control API: every operation with its parameters, its body and its answers, from the OpenAPI document. */
export function controlApiPage() {
  const { paths, components } = openApiDocument();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      ...operation,
    })),
  );
  const shared = sharedErrors(operations);
  return [
    "# Operations of the control API",
    "",
    "Every operation under `/api`. [The control API](../control-api.md) explains them with examples; a running server describes them",
    "at `/api/openapi.json`, with the schema of every body.",
    "",
    "Each of them can also answer:",
    "",
    table(["status", "answer"], shared),
    "",
    ...operations.flatMap((operation) => sectionOf(operation, components.schemas, shared)),
  ].join("\n");
}

/** The errors that every operation can answer, with the same meaning. */
function sharedErrors([{ responses }, ...others]) {
  return Object.entries(responses)
    .filter(([status, { description }]) =>
      others.every((other) => other.responses[status]?.description === description && Number(status) >= 400),
    )
    .map(([status, { description }]) => [status, description]);
}

function sectionOf(
  { method, path, summary, description, parameters, requestBody, responses },
  schemas,
  shared,
) {
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
    `## \`${method} ${path}\``,
    "",
    `${sentence(summary)} ${description}`,
    "",
    ...(rows.length > 0 ? [table(["name", "in", "type"], rows), ""] : []),
    table(
      ["status", "answer"],
      Object.entries(responses)
        .filter(([status]) => !shared.some(([common]) => common === status))
        .map(([status, { description, content }]) => [status, bodyOf(content, schemas) ?? description]),
    ),
    "",
  ];
}

function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** What an answer carries; undefined for an error, which is a problem document, and for an answer without a body. */
function bodyOf(content, schemas) {
  const [[type, { schema } = {}] = []] = Object.entries(content ?? {});
  if (type === undefined || type === "application/problem+json") return undefined;
  return type === "application/json" ? typeOf(schema, schemas) : type;
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
  if (schema.title !== undefined) return schema.title;
  if (schema.type === "array") return `list of ${typeOf(schema.items, schemas)}`;
  return [schema.type].flat().join(" or ") + (schema.format === undefined ? "" : ` (${schema.format})`);
}
