import { documentOf, headersOf, parametersIn, pathParameters } from "../open-api/document.ts";
import { ref, type Schema, type Schemas, SECONDS, TEXT } from "../open-api/schema.ts";
import { operations, TAGS } from "./operations.ts";
import { schemas } from "./schemas.ts";

/** The headers of errors, by status, as `answerWithProblems` and the guard set them. */
const ERROR_HEADERS: Readonly<Record<string, Schemas>> = {
  401: { "WWW-Authenticate": { type: "string", const: "Bearer" } },
  503: { "Retry-After": SECONDS },
};

/** The OpenAPI 3.1 document of the control API. */
export function openApiDocument(): Schema {
  return documentOf({
    title: "Countersign control API",
    description: "Shows what a countersign server forwards and with what results, and injects faults.",
    prefix: "/api",
    tags: TAGS,
    operations,
    describe,
    schemas,
    securitySchemes: {
      token: { type: "http", scheme: "bearer", description: "Only on a server with --token." },
    },
    security: [{}, { token: [] }],
  });
}

function describe({
  method,
  path,
  query = {},
  headers = [],
  body,
  bodyIsOptional,
  answer,
  answers = {},
  errors = {},
}: (typeof operations)[number]): Schema {
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
    parameters: [
      ...pathParameters(path),
      ...parametersIn("query", query),
      ...parametersIn("header", textsOf(headers)),
    ],
    ...(body && {
      requestBody: { required: bodyIsOptional !== true, content: { "application/json": { schema: body } } },
    }),
    responses: {
      [answer.status]: {
        description: "Done.",
        ...(answer.headers && {
          headers: headersOf(textsOf(answer.headers)),
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

/** Headers whose values are texts. */
function textsOf(names: readonly string[]): Schemas {
  return Object.fromEntries(names.map((name) => [name, TEXT]));
}
