import type { FastifyInstance } from "fastify";
import { readPageFiles } from "./page-files.ts";

/**
 * Only the page's own files are loaded, it talks to this server alone, and text never becomes markup or script: what a message
 * contains stays text.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Adds the page at `/`, and the files that it loads. */
export async function pageRoutes(scope: FastifyInstance): Promise<void> {
  for (const { path, type, content, hashed } of readPageFiles()) {
    scope.get(path, { exposeHeadRoute: true }, async (_request, reply) =>
      reply
        .type(type)
        .header("content-security-policy", CONTENT_SECURITY_POLICY)
        .header("referrer-policy", "no-referrer")
        .header("cross-origin-opener-policy", "same-origin")
        .header("cache-control", hashed ? "public, max-age=31536000, immutable" : "no-cache")
        .send(content),
    );
  }
}
