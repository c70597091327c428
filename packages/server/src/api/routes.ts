import { parseJson } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ApiContext, Operation, OperationInput, Schema } from "./operation.ts";
import { Problem } from "./problem.ts";
import { readQuery } from "./read-query.ts";
import { openApiDocument } from "./open-api.ts";
import { operations } from "./operations.ts";

/** Most bytes of a body, unless an operation takes more. Every mistake in it is reported, which takes memory. */
const MAX_BODY_BYTES = 262_144;

/** Adds the control API to a scope, to be registered under `/api`. */
export async function apiRoutes(scope: FastifyInstance, { context }: { context: ApiContext }): Promise<void> {
  const document = JSON.stringify(openApiDocument());
  scope.get("/openapi.json", async (_request, reply) => reply.type("application/json").send(document));
  readBodies(scope);
  for (const operation of operations) addRoute(scope, context, operation);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** As `/v1` reads them: what is not UTF-8 would be taken with other characters in its place, and `JSON.parse` misreads keys. */
function readBodies(scope: FastifyInstance): void {
  scope.removeContentTypeParser("application/json");
  scope.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => {
      if (body.length === 0)
        throw new Problem(400, "The body is empty. Send JSON, or leave out the header `Content-Type`.");
      try {
        return parseJson(utf8.decode(body));
      } catch (error) {
        if (error instanceof SyntaxError) throw new Problem(400, `The body is not JSON: ${error.message}.`);
        throw new Problem(400, "The body is not valid UTF-8.");
      }
    },
  );
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
