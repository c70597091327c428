import { StoreError, type SourceSettings } from "@countersign/sender";
import type { FastifyInstance } from "fastify";
import { StoreFullError, type Ingest } from "../ingest/ingest.ts";
import type { RejectionReason } from "../ingest/rejections.ts";
import { ingestRoutes } from "../ingest/routes.ts";
import { createAcceptCalls } from "../ledger/accept-calls.ts";
import type { ApiContext } from "../api/operation.ts";
import { apiRoutes } from "../api/routes.ts";
import { type BareAppOptions, createBareApp } from "./bare-app.ts";
import { createGuard, type GuardOptions } from "./guard.ts";
import { healthRoutes } from "./health-routes.ts";
import type { Metrics } from "../live/metrics.ts";
import { sourceOf, sourceOfWriteKey } from "../settings/find-settings.ts";
import { pageRoutes } from "../page/routes.ts";
import { readiness, waitingWithoutSettings } from "../live/readiness.ts";
import { DEFAULT_SOURCE } from "./server-options.ts";

/** The parts that the routes use. */
export interface AppOptions extends GuardOptions, BareAppOptions {
  readonly context: ApiContext;
  readonly metrics: Metrics;
  /** Whether a write key of no source belongs to the default one. */
  readonly anyKey: boolean;
}

/** Composes the routes: `/v1` open to every client, everything else behind the guard. */
export function createApp(options: AppOptions): FastifyInstance {
  const { context, metrics, maxConnections, tls, onError } = options;
  const app = createBareApp({ maxConnections, tls, onError });
  app.register(ingestRoutes, { prefix: "/v1", ingest: createIngest(options) });
  app.register(async (scope) => {
    const guard = createGuard(options);
    scope.addHook("onRequest", guard.check);
    // A form on a web page can send text/plain without asking first.
    scope.removeContentTypeParser("text/plain");
    scope.register(apiRoutes, { prefix: "/api", context });
    scope.register(pageRoutes);
    const { sender, room, info } = context;
    const parts = { waiting: waitingWithoutSettings(sender), room, delivers: info.delivers };
    healthRoutes(scope, { guard, metrics: () => metrics, readiness: () => readiness(parts) });
  });
  return app;
}

function createIngest({ context, metrics, anyKey, onError }: AppOptions): Ingest {
  const { sender, ledger, room, events, faults, warnings: kept, now } = context;
  const accept = createAcceptCalls(sender, ledger, now);
  const ownerOf = (writeKey: string): SourceSettings | undefined =>
    sourceOfWriteKey(sender.settings, writeKey);
  return {
    now,
    onError,
    isWriteKey: (text) => ownerOf(text) !== undefined,
    findSource(writeKey) {
      const exact = ownerOf(writeKey);
      return (exact ?? (anyKey ? sourceOf(sender.settings, DEFAULT_SOURCE) : undefined))?.name;
    },
    async accept(source, calls) {
      const acceptance = await accept(source, calls).catch((error: unknown) => {
        if (error instanceof StoreFullError) room.refused("full", error.message);
        else if (error instanceof StoreError) room.refused("down", error.message);
        throw error;
      });
      room.stored();
      metrics.accepted(source, acceptance.accepted);
      metrics.duplicates(source, acceptance.duplicates);
      return acceptance;
    },
    async keepRejections(rejections, source) {
      events.rejected(rejections, source);
      const counts = new Map<RejectionReason, number>();
      for (const { reason } of rejections) counts.set(reason, (counts.get(reason) ?? 0) + 1);
      for (const [reason, count] of counts) metrics.rejected(reason, count);
      await ledger.keepRejections(rejections, source, now());
    },
    keepWarnings(warnings, source) {
      kept.keep(warnings, source, now());
      for (const warning of warnings) {
        metrics.warned(warning.reason);
        events.warned(warning, source);
      }
    },
    countRefusal: (code) => metrics.refused(code),
    rateLimit: () => faults.strikeRateLimit(),
  };
}
