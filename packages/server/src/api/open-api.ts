import { ref, type Schema, type Schemas } from "./operation.ts";
import { operations, TAGS } from "./operations.ts";
import { schemas } from "./schemas.ts";

/** The headers of errors, by status, as `answerWithProblems` and the guard set them. */
const ERROR_HEADERS: Readonly<Record<string, Schemas>> = {
  401: { "WWW-Authenticate": { type: "string", const: "Bearer" } },
  503: { "Retry-After": { type: "string", description: "Seconds." } },
};

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
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The server that this document comes from." }],
    tags: TAGS.map((name) => ({ name })),
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
  method,
  tag,
  summary,
  path,
  query = {},
  headers = [],
  body,
  bodyIsOptional,
  answer,
  answers = {},
  errors = {},
}: (typeof operations)[number]): Schema {
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
    // Of one that takes no body, what is sent is read nevertheless.
    ...(method !== "GET" && { 413: "The body is too large.", 415: "The body is not said to be JSON." }),
    500: "The server failed.",
    503: "The store failed, or has no room.",
    ...errors,
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    parameters: [...inPath, ...inQuery, ...inHeaders],
    ...(body && {
      requestBody: { required: bodyIsOptional !== true, content: { "application/json": { schema: body } } },
    }),
    responses: {
      [answer.status]: {
        description: "Done.",
        ...(answer.headers && {
          headers: headersOf(Object.fromEntries(answer.headers.map((name) => [name, { type: "string" }]))),
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
          {
            description,
            ...(ERROR_HEADERS[status] && { headers: headersOf(ERROR_HEADERS[status]) }),
            content: { "application/problem+json": { schema: ref("Problem") } },
          },
        ]),
      ),
    },
  };
}

/** Headers that an answer always has, by name. */
function headersOf(schemas: Schemas): Schema {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { required: true, schema }]),
  );
}
