import { METHODS } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import { isDateTime } from "../api/date-time.ts";
import { answerWithProblems } from "../api/answer-with-problems.ts";
import { watchMethods } from "../allowed-methods.ts";
import { answerBrokenRequest } from "../broken-request.ts";
import { answerMalformedUrl, MAX_NAME_LENGTH } from "./answer-malformed-url.ts";
import { compileOnDemand } from "./compile-on-demand.ts";
import { limitConnections } from "./connections.ts";
import type { TlsOptions } from "./server-options.ts";

/** A client has this long for the headers of a request, and for the whole of it. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 16_384;

const OR_TLS = ", or start the server with --tls-self-signed or a certificate";

/** What an application is like, whatever its routes. */
export interface BareAppOptions {
  readonly maxConnections: number;
  readonly tls?: TlsOptions | undefined;
  readonly onError: (error: unknown) => void;
}

/** An application without routes, which no client can keep busy or fill. Its errors are problems (RFC 9457). */
export function createBareApp({ maxConnections, tls, onError }: BareAppOptions): FastifyInstance {
  const limits = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: 1_000,
  };
  const app = Fastify({
    // A host that is given with a slash at its end makes `//v1/track` of a client.
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: MAX_NAME_LENGTH,
    },
    exposeHeadRoutes: false,
    // A call may have such names in its properties. They are kept as properties, and never assigned.
    onProtoPoisoning: "ignore",
    onConstructorPoisoning: "ignore",
    // What arrives on an open connection while the server drains is still stored, rather than refused without a code.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: limits,
    // As an object of any kind, because the types make another server of it; at run time both have the same interface.
    ...(tls && ({ https: { ...limits, ...tls, handshakeTimeout: HEADERS_TIMEOUT_MS } } as object)),
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, { onError, orTls: OR_TLS }),
    frameworkErrors: (error, request, reply) => {
      reply.hijack();
      answerMalformedUrl(error, request, reply);
    },
    schemaController: { compilersFactory: compileOnDemand },
    // A body that says null or "u1" where a list belongs would else be taken for an empty text, false or a list of one, and 1e400,
    // which is read as Infinity, for an integer.
    ajv: {
      customOptions: {
        removeAdditional: false,
        strict: false,
        strictNumbers: true,
        coerceTypes: false,
        allErrors: true,
      },
      // Ajv's own takes leap seconds, which are no time here.
      onCreate: (ajv: { addFormat(name: string, format: (text: string) => boolean): unknown }) =>
        void ajv.addFormat("date-time", isDateTime),
    },
  });
  // No path takes it, and Fastify would answer 400 to one without a content type, before anybody can say 405. Fastify names it among
  // its methods on every Node, but adds it only where Node has it, which 20.19.0 has not.
  if (METHODS.includes("QUERY")) app.addHttpMethod("QUERY", { hasBody: false, overrideExisting: true });
  const closeSilent = limitConnections(app.server, maxConnections, onError);
  app.addHook("preClose", (done) => {
    closeSilent();
    done();
  });
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("x-content-type-options", "nosniff");
    done();
  });
  answerWithProblems(app, onError, watchMethods(app));
  return app;
}
