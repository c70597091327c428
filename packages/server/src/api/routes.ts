import type { FastifyInstance } from "fastify";
import type { ApiContext, Operation, OperationInput, Schema } from "./operation.ts";
import { openApiDocument, operations } from "./open-api.ts";

/** Adds the control API to a scope, to be registered under `/api`. */
export async function apiRoutes(scope: FastifyInstance, { context }: { context: ApiContext }): Promise<void> {
  const document = JSON.stringify(openApiDocument());
  scope.get("/openapi.json", async (_request, reply) => reply.type("application/json").send(document));
  for (const operation of operations) addRoute(scope, context, operation);
}

function addRoute(scope: FastifyInstance, context: ApiContext, operation: Operation): void {
  const { method, path, query, body, answer } = operation;
  scope.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
    schema: {
      ...(query && { querystring: { type: "object", properties: query, additionalProperties: false } }),
      ...(body && { body }),
    },
    preValidation: async (request) => readNumbers(request.query as Record<string, unknown>, query ?? {}),
    handler: async (request, reply) => {
      const input = {
        params: request.params,
        query: request.query,
        body: request.body,
        request,
        reply,
      } as OperationInput;
      const result = await operation.handle(context, input);
      if (reply.sent) return reply;
      return reply.code(answer.status).send(result);
    },
  });
}

/** In a query string everything is text, and nothing else is made of it on the way to its schema. */
function readNumbers(given: Record<string, unknown>, schemas: Readonly<Record<string, Schema>>): void {
  for (const [name, { type }] of Object.entries(schemas)) {
    const value = given[name];
    if (type === "integer" && typeof value === "string" && /^\d+$/.test(value)) given[name] = Number(value);
  }
}
