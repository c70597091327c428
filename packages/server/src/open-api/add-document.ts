import type { FastifyInstance } from "fastify";
import type { Schema } from "./schema.ts";

/** Serves a document at `/openapi.json` of a scope. It is made when the first request comes for it: most servers are never asked. */
export function addDocument(scope: FastifyInstance, make: () => Schema): void {
  let text: string | undefined;
  scope.get("/openapi.json", { exposeHeadRoute: true }, async (_request, reply) => {
    text ??= JSON.stringify(make());
    return reply.type("application/json").send(text);
  });
}
