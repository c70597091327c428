import { ref, type Operation, type Schema } from "./operation.ts";
import { operations } from "./operations.ts";
import { schemas } from "./schemas.ts";

/** The OpenAPI 3.1 document of the control API. */
export function openApiDocument(): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const operation of operations) {
    const path = (paths[`/api${operation.path}`] ??= {});
    path[operation.method.toLowerCase()] = describe(operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Countersign control API",
      version: "1.0.0",
      description: "Shows what a countersign server forwards and with what results, and injects faults.",
    },
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "Only on a server with --token." },
      },
    },
    security: [{}, { token: [] }],
  };
}

function describe({
  id,
  summary,
  path,
  query = {},
  headers = [],
  body,
  bodyIsOptional,
  answer,
  answers = {},
  errors = {},
}: Operation): Schema {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inHeaders = headers.map((name) => ({ name, in: "header", schema: { type: "string" } }));
  const inQuery = Object.entries(query).map(([name, schema]) => ({ name, in: "query", schema }));
  const problems = {
    400: "The request is malformed.",
    401: "The token is missing.",
    403: "The host or the origin is not allowed.",
    ...(body && { 413: "The body is too large." }),
    503: "The store failed, or has no room.",
    ...errors,
  };
  return {
    operationId: id,
    summary,
    parameters: [...inPath, ...inQuery, ...inHeaders],
    ...(body && {
      requestBody: { required: bodyIsOptional !== true, content: { "application/json": { schema: body } } },
    }),
    responses: {
      [answer.status]: {
        description: "Done.",
        ...(answer.headers && {
          headers: Object.fromEntries(answer.headers.map((name) => [name, { schema: { type: "string" } }])),
        }),
        ...(answer.schema && { content: { [answer.type ?? "application/json"]: { schema: answer.schema } } }),
      },
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [
          status,
          { description: "Done.", content: { "application/json": { schema } } },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(problems).map(([status, description]) => [
          status,
          { description, content: { "application/problem+json": { schema: ref("Problem") } } },
        ]),
      ),
    },
  };
}
