import { parseJson } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ApiContext, Operation, OperationInput, Schema } from "./operation.ts";
import { beginningOf } from "../ingest/beginning-of.ts";
import { UNSAFE, unsafeNumberOf } from "../ingest/read-integers.ts";
import { pointerPart, Problem, problemAt } from "./problem.ts";
import { readQuery } from "./read-query.ts";
import { addDocument } from "../open-api/add-document.ts";
import { openApiDocument } from "./open-api.ts";
import { operations } from "./operations.ts";

/** Most bytes of a body, unless an operation takes more. Every mistake in it is reported, which takes memory. */
const MAX_BODY_BYTES = 262_144;

/** Adds the control API to a scope, to be registered under `/api`. */
export async function apiRoutes(scope: FastifyInstance, { context }: { context: ApiContext }): Promise<void> {
  addDocument(scope, openApiDocument);
  readBodies(scope);
  for (const operation of operations) addRoute(scope, context, operation);
}

/** A number may be as long as its body. */
const MAX_DIGITS = 100;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What cannot be read as it stands is refused: it would be stored and sent as something else. */
function readBodies(scope: FastifyInstance): void {
  scope.removeContentTypeParser("application/json");
  scope.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => readBody(body),
  );
}

function readBody(body: Buffer): unknown {
  if (body.length === 0)
    throw new Problem(400, "The body is empty. Send JSON, or leave out the header `Content-Type`.");
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(body);
    value = parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Problem(400, `The body is not JSON: ${error.message}.`);
    throw new Problem(400, "The body is not valid UTF-8.");
  }
  const unsafe = unsafeNumberOf(text);
  if (unsafe === undefined) return value;
  const pointer = unsafe.keys.map((key) => `/${pointerPart(key)}`).join("");
  throw problemAt({ pointer }, `${beginningOf(unsafe.digits, MAX_DIGITS)} is ${UNSAFE}`, 400);
}

function checkedBody({ body = {}, checkedBody: checked = body, bodyIsOptional }: Operation): Schema {
  return bodyIsOptional ? { anyOf: [{ type: "null" }, checked] } : checked;
}

function addRoute(scope: FastifyInstance, context: ApiContext, operation: Operation): void {
  const { method, path, query, body, answer } = operation;
  scope.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
    schema: {
      ...(query && { querystring: { type: "object", properties: query, additionalProperties: false } }),
      ...(body && { body: checkedBody(operation) }),
    },
    bodyLimit: operation.maxBodyBytes ?? MAX_BODY_BYTES,
    preValidation: async (request) => {
      if (query) readQuery(request.query as Record<string, unknown>, query);
    },
    handler: async (request, reply) => {
      const input = {
        params: request.params,
        query: request.query,
        body: request.body,
        request,
        reply,
      } as OperationInput;
      reply.code(answer.status);
      const result = await operation.handle(context, input);
      return reply.sent ? reply : reply.send(result);
    },
  });
}
