import Fastify, { type FastifyInstance } from "fastify";
import { StoreFullError, type Ingest } from "../ingest/ingest.ts";
import { ingestRoutes } from "../ingest/routes.ts";
import { takeTurns } from "../ingest/take-turns.ts";
import { createAcceptCalls } from "../ledger/accept-calls.ts";
import type { ApiContext } from "../api/operation.ts";
import { apiRoutes } from "../api/routes.ts";
import { answerBrokenRequest, answerMalformedUrl, isTlsHello, TLS_EXPECTED } from "./broken-request.ts";
import { limitConnections } from "./connections.ts";
import { createGuard, type GuardOptions } from "./guard.ts";
import type { TlsOptions } from "./server-options.ts";
import type { Metrics } from "../live/metrics.ts";
import { sourceOf } from "../settings/settings-edit.ts";
import { pageRoutes } from "../page/routes.ts";
import { answerWithProblems } from "../api/problem.ts";
import { readiness } from "./readiness.ts";
import { DEFAULT_SOURCE } from "./server-options.ts";

/** The parts that the routes use. */
export interface AppOptions extends GuardOptions {
  readonly context: ApiContext;
  readonly metrics: Metrics;
  /** Whether a write key of no source belongs to the default one. */
  readonly anyKey: boolean;
  readonly maxConnections: number;
  readonly tls?: TlsOptions | undefined;
  readonly onError: (error: unknown) => void;
}

/** A client has this long for the headers of a request, and for the whole of it. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 16_384;

/** Composes the routes: `/v1` open to every client, everything else behind the guard. */
export function createApp(options: AppOptions): FastifyInstance {
  const { context, metrics, maxConnections, tls, onError } = options;
  const limits = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: 1_000,
  };
  const app = Fastify({
    // A host that is given with a slash at its end makes `//v1/track` of a client.
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 512 },
    exposeHeadRoutes: false,
    // What arrives on an open connection while the server drains is still stored, rather than refused without a code.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: limits,
    // As an object of any kind, because the types make another server of it; at run time both have the same interface.
    ...(tls && ({ https: { ...limits, ...tls, handshakeTimeout: HEADERS_TIMEOUT_MS } } as object)),
    clientErrorHandler(error, socket) {
      if (isTlsHello(error)) onError(new Error(TLS_EXPECTED));
      answerBrokenRequest(error, socket);
    },
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack();
      answerMalformedUrl(reply.raw);
    },
    // A body that says null or "u1" where a list belongs would else be taken for an empty text, false or a list of one.
    ajv: {
      customOptions: { removeAdditional: false, strict: false, coerceTypes: false, allErrors: true },
    },
  });
  limitConnections(app.server, maxConnections);
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("x-content-type-options", "nosniff");
    done();
  });
  answerWithProblems(app, onError);
  app.register(ingestRoutes, { prefix: "/v1", ingest: createIngest(options) });
  app.register(async (scope) => {
    const guard = createGuard(options);
    scope.addHook("onRequest", guard.check);
    // A form on a web page can send text/plain without asking first.
    scope.removeContentTypeParser("text/plain");
    scope.register(apiRoutes, { prefix: "/api", context });
    scope.register(pageRoutes);
    scope.get("/metrics", async (_request, reply) =>
      reply.type(metrics.contentType).send(await metrics.render()),
    );
    scope.get("/healthz", async () => ({ status: "ok" }));
    scope.get("/readyz", async (request, reply) => {
      const { ready, status, ...details } = await readiness(context);
      // Names of destinations, and what the store says of its files, are not for everyone on the network.
      return reply.code(ready ? 200 : 503).send({ status, ...(guard.isTrusted(request) && details) });
    });
  });
  return app;
}

function createIngest({ context, metrics, anyKey, onError }: AppOptions): Ingest {
  const { sender, ledger, room, events, faults, warnings: kept, now } = context;
  const accept = createAcceptCalls(sender, ledger, now);
  return {
    now,
    onError,
    findSource(writeKey) {
      const { sources } = sender.settings;
      const exact = sources.find((source) => (source.writeKey ?? source.name) === writeKey);
      return (exact ?? (anyKey ? sourceOf(sender.settings, DEFAULT_SOURCE) : undefined))?.name;
    },
    async accept(source, calls) {
      const acceptance = await accept(source, calls).catch((error: unknown) => {
        if (error instanceof StoreFullError) room.full(error.message);
        throw error;
      });
      metrics.accepted(source, acceptance.accepted);
      metrics.duplicates(source, acceptance.duplicates);
      return acceptance;
    },
    async keepRejections(rejections, source) {
      const turn = takeTurns();
      for (const rejection of rejections) {
        metrics.rejected(rejection.reason);
        events.rejected(rejection, source);
        await turn();
      }
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
