import type { FastifyInstance } from "fastify";
import type { ApiContext } from "../api/operation.ts";
import { destinationsWithoutSettings } from "../settings/settings-edit.ts";
import { renderPage } from "./page.ts";

/** Nothing is loaded and nothing runs: what a message contains stays text. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

/**
 * Adds the page at `/`. A richer dashboard takes the place of this plugin: it has the whole control API to stand on,
 * and the guard of the scope it is registered in.
 */
export async function pageRoutes(
  scope: FastifyInstance,
  { context }: { context: ApiContext },
): Promise<void> {
  const { sender, ledger } = context;
  scope.get("/", async (_request, reply) => {
    const deliveries = await sender.deliveries({ limit: 50 });
    const page = renderPage({
      deliveries,
      rejections: ledger.rejections(20),
      settings: sender.settings,
      withoutSettings: await destinationsWithoutSettings(sender),
    });
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", CONTENT_SECURITY_POLICY)
      .header("cache-control", "no-store")
      .send(page);
  });
}
