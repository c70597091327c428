import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";

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
  scope.options("/*", async ({ headers }, reply) =>
    reply.code(204).headers(headersOfPreflight(headers)).send(),
  );
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

/** What answers a preflight, with 204: a page may send any header. */
export function headersOfPreflight({
  "access-control-request-headers": wanted,
}: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return {
    ...(wanted !== undefined && HEADER_NAMES.test(wanted) && { "access-control-allow-headers": wanted }),
    "access-control-allow-methods": "GET, POST",
    "access-control-max-age": "86400",
  };
}
