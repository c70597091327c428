import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Header names, separated by commas, as a browser lists them. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;

/** What client libraries read of an answer to decide when to send again. */
const EXPOSED_HEADERS = "Retry-After, X-RateLimit-Reset";

/**
 * Opens a scope to web pages of any origin, as the real service does: pages load client libraries that set their own headers,
 * such as `X-Retry-Count` on a retry or Rudder's `AnonymousId`. To be used for `/v1` only: nothing there reads a cookie.
 */
export function openToBrowsers(scope: FastifyInstance): void {
  scope.addHook("onRequest", ({ headers }, reply, done) => {
    reply.headers(headersForPages(headers.origin));
    done();
  });
  scope.options("/*", async (request, reply) => answerPreflight(request, reply));
}

/** What lets a page read an answer. One that sends with credentials accepts no `*`, so its own origin is named. */
export function headersForPages(origin: string | undefined): Readonly<Record<string, string>> {
  return {
    "access-control-allow-origin": origin ?? "*",
    "access-control-expose-headers": EXPOSED_HEADERS,
    vary: "Origin",
    ...(origin !== undefined && { "access-control-allow-credentials": "true" }),
  };
}

function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const wanted = headers["access-control-request-headers"];
  if (typeof wanted === "string" && HEADER_NAMES.test(wanted)) {
    reply.header("access-control-allow-headers", wanted);
  }
  return reply
    .code(204)
    .header("access-control-allow-methods", "GET, POST")
    .header("access-control-max-age", "86400")
    .send();
}
