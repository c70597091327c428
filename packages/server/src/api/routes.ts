import type { FastifyInstance } from "fastify";
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
  refuseOtherThanUtf8(scope);
  for (const operation of operations) addRoute(scope, context, operation);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What is not UTF-8 would be taken with other characters in its place, where `/v1` refuses it. */
function refuseOtherThanUtf8(scope: FastifyInstance): void {
  const parse = scope.getDefaultJsonParser("ignore", "ignore");
  scope.removeContentTypeParser("application/json");
  scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body: Buffer, done) => {
    let text: string;
    try {
      text = utf8.decode(body);
    } catch {
      done(new Problem(400, "The body is not valid UTF-8."));
      return;
    }
    void parse(request, text, done);
  });
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
